"""What a gateway keeps of its servers has a bound, also over all of them and of those that are dead."""

from __future__ import annotations

import pytest

from envwire.codec import FaultError, Reason
from envwire.farm.gateway import hellos
from envwire.farm.gateway.hellos import check_room, parse_hello
from envwire.farm.gateway.registry.states import CUT_DEAD_SECONDS
from envwire.farm.v1 import farm_pb2 as pb
from tests.unit.farm.gateway.registry.test_registry import Farm, hello


def refused(farm: Farm, name: str) -> None:
    with pytest.raises(FaultError, match="start a second gateway") as caught:
        check_room(hello(name), farm.registry.members)
    assert caught.value.reason is Reason.CAPACITY_REACHED


def test_the_descriptions_of_all_servers_have_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    farm = Farm()
    sizes = [farm.add(name).size for name in ("a", "b")]
    check_room(hello("c"), farm.registry.members)
    monkeypatch.setattr(hellos, "MAX_KEPT_BYTES", sum(sizes))
    refused(farm, "c")
    check_room(hello("b"), farm.registry.members)  # it takes its own place


def test_their_number_has_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    farm = Farm()
    farm.add("a")
    monkeypatch.setattr(hellos, "MAX_SERVERS", 1)
    refused(farm, "b")
    check_room(hello("a"), farm.registry.members)


def test_what_the_dead_offered_is_not_kept() -> None:
    farm = Farm()
    ids = tuple(f"Env{number}-v0" for number in range(1000))
    living, dead = farm.add("a", ids=ids), farm.add("b", ids=ids)
    farm.registry.leave(dead, farm.now)
    again = farm.add("b", ids=ids, run="2")
    farm.registry.disconnect(again, farm.now)
    farm.wait(CUT_DEAD_SECONDS, living)
    farm.registry.probed(again, False, farm.now)
    kept = {each.hello.server_id: each for each in farm.registry.members}
    assert kept["a"] is living
    assert kept["b"].dead
    assert kept["b"].size < 100 < again.size
    check_room(hello("c"), farm.registry.members)


def test_what_a_server_of_a_group_has_is_its_groups() -> None:
    said = hello("a", ids=("A-v0",))
    said.info.libraries.add(name="gymnasium", version="1.1")
    for labels, group in (({"group": "arms"}, "arms"), ({"zone": "1"}, "")):
        said.labels.clear()
        said.labels.update(labels)
        heard = parse_hello(pb.RegisterRequest(hello=said).SerializeToString())
        assert {each.group for each in heard.environments} == {group}
        assert {each.group for each in heard.info.libraries} == {group}
