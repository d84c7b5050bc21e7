"""The registry of a farm with a test clock: placement, liveness, and a gateway that was stalled."""

from __future__ import annotations

from typing import Any

import pytest

from envwire.farm.gateway.registry.placement import Requirements
from envwire.farm.gateway.registry.registry import HELD_SECONDS, STALL_SECONDS, Registry
from envwire.farm.gateway.registry.states import (
    AGREED_DEAD_SECONDS,
    CUT_DEAD_SECONDS,
    DEAD_SECONDS,
    LIVENESS,
    SUSPECT_SECONDS,
    Liveness,
    Member,
    State,
)
from envwire.farm.v1 import farm_pb2
from envwire.v1 import environment_pb2 as pb
from envwire.v1 import specs_pb2

POLE = Requirements("CartPole-v1")
#: The registry is called at least so often while a gateway lives.
TICK = STALL_SECONDS / 4


def hello(
    name: str, slots: int = 4, ids: tuple[str, ...] = ("CartPole-v1",), run: str = "1", **more: Any
) -> farm_pb2.ServerHello:
    return farm_pb2.ServerHello(
        server_id=name,
        address=f"{name}:1",
        info=pb.GetServerInfoResponse(max_sessions=slots, incarnation=name + run),
        environments=[
            pb.EnvironmentListing(library="envwire", spec=specs_pb2.EnvSpec(id=each))
            for each in ids
        ],
        **more,
    )


class Farm:
    """A registry and its time."""

    def __init__(self) -> None:
        self.now = 0.0
        self.registry = Registry(self.now)
        self.dead: list[Member] = []
        self.cut: list[Member] = []
        self.registry.on_dead, self.registry.on_cut = self.dead.append, self.cut.append

    def add(self, name: str, **more: Any) -> Member:
        return self.registry.register(hello(name, **more), f"{name}:1", self.now)

    def report(self, member: Member, active: int = 0, draining: bool = False) -> None:
        load = farm_pb2.ServerLoad(active_sessions=active, draining=draining)
        self.registry.report(member, load, self.now)

    def wait(self, seconds: float, *reporting: Member) -> None:
        """Lets time pass as in a gateway that runs."""
        until = self.now + seconds
        while self.now < until:
            self.now = min(self.now + TICK, until)
            self.registry.sweep(self.now)
            for member in reporting:
                self.report(member, member.active)

    def make(self, requirements: Requirements = POLE) -> str:
        member = self.registry.claim(requirements, self.now)
        if member is None:
            return ""
        self.registry.settle(member, made=True)
        return member.hello.server_id

    def allocate(self, requirements: Requirements, count: int) -> dict[Member, int] | None:
        """Sets slots aside at servers that keep none themselves."""
        shares = self.registry.divide(requirements, count, self.now)
        self.registry.settle_shares(shares or {}, kept=bool(shares), now=self.now)
        return shares

    def locate(self, member: Member, *, silent: bool = False) -> Liveness.ValueType:
        return self.registry.locate(f"abc-{member.incarnation}", self.now, silent=silent)[0]


@pytest.fixture
def farm() -> Farm:
    return Farm()


def test_makes_go_to_the_least_busy_server(farm: Farm) -> None:
    for name in "abcd":
        farm.add(name, slots=50)
    made = [farm.make() for _ in range(100)]
    assert {made.count(name) for name in "abcd"} == {25}


def test_busy_is_what_part_of_the_slots_is_taken(farm: Farm) -> None:
    farm.add("small", slots=10)
    farm.add("large", slots=30)
    made = [farm.make() for _ in range(20)]
    assert made.count("small") == 5


def test_makes_under_way_count(farm: Farm) -> None:
    a, b = farm.add("a"), farm.add("b")
    assert {farm.registry.claim(POLE, 0.0) for _ in range(2)} == {a, b}
    assert (a.load, b.load) == (1, 1)
    farm.registry.settle(a, made=False)
    assert farm.registry.claim(POLE, 0.0) is a


def test_a_full_farm_has_no_room_until_a_server_reports_some(farm: Farm) -> None:
    a = farm.add("a", slots=1)
    told: list[str] = []
    farm.registry.on_room = lambda: told.append("room")
    assert [farm.make(), farm.make()] == ["a", ""]
    assert a.state(farm.now) == State.STATE_BUSY
    assert not told
    farm.report(a, 0)
    assert told
    assert farm.make() == "a"


def test_only_servers_that_have_the_id_and_the_library(farm: Farm) -> None:
    farm.add("a", ids=("Pendulum-v1",))
    assert farm.make() == ""
    farm.add("b")
    assert farm.make() == "b"
    assert farm.make(Requirements("CartPole-v1", "gymnasium")) == ""


def test_servers_that_refused_are_passed_over(farm: Farm) -> None:
    a, b = farm.add("a"), farm.add("b")
    assert farm.registry.claim(POLE, 0.0, {a}) is b
    assert farm.registry.claim(POLE, 0.0, {a, b}) is None


def test_a_reported_load_replaces_what_was_counted(farm: Farm) -> None:
    a = farm.add("a")
    farm.make()
    farm.report(a, 3)
    assert a.load == 3


def test_allocations_are_all_or_nothing_and_run_out(farm: Farm) -> None:
    a, b = farm.add("a", slots=3), farm.add("b", slots=5)
    assert farm.allocate(POLE, 9) is None
    assert (a.load, b.load) == (0, 0)
    assert farm.allocate(POLE, 8) == {a: 3, b: 5}
    assert farm.make() == ""
    farm.wait(HELD_SECONDS, a, b)
    assert (a.load, b.load) == (0, 0)


def test_spread_and_pack(farm: Farm) -> None:
    a, b = farm.add("a"), farm.add("b")
    assert farm.allocate(POLE, 4) == {a: 2, b: 2}
    farm.wait(HELD_SECONDS, a, b)
    farm.report(b, 1)
    pack = Requirements("CartPole-v1", strategy=farm_pb2.AllocateRequest.STRATEGY_PACK)
    assert farm.allocate(pack, 4) == {b: 3, a: 1}


def test_a_strategy_of_a_later_version_spreads(farm: Farm) -> None:
    a, b = farm.add("a"), farm.add("b")
    later: Any = 7
    assert farm.allocate(Requirements("CartPole-v1", strategy=later), 4) == {a: 2, b: 2}


def test_a_large_batch_asks_few_servers_and_leaves_them_within_a_hundredth_of_even(
    farm: Farm,
) -> None:
    members = [farm.add(f"{number:03}", slots=1000) for number in range(200)]
    few = farm.allocate(POLE, 4)
    assert few is not None
    assert list(few.values()) == [1] * 4
    many = farm.allocate(POLE, 1000)
    assert many is not None
    assert list(many.values()) == [10] * 100
    for _ in range(20):
        assert farm.allocate(POLE, 1000)
    loads = [each.load for each in members]
    assert sum(loads) == 21_004
    assert max(loads) - min(loads) <= 10
    assert farm.allocate(POLE, 200_000 - 21_004)
    assert {each.load for each in members} == {1000}


def test_labels_and_fingerprints(farm: Farm) -> None:
    farm.add("a", labels={"gpu": "a100"})
    b = farm.add("b", fingerprint="f")
    assert farm.make(Requirements("CartPole-v1", labels={"gpu": "a100"})) == "a"
    assert farm.make(Requirements("CartPole-v1", labels={"gpu": "h100"})) == ""
    farm.report(b, 3)
    assert farm.make(Requirements("CartPole-v1", fingerprint="f")) == "b"  # although it is busier
    assert farm.make(Requirements("CartPole-v1", fingerprint="f")) == "a", (
        "b is full: better than none"
    )


def test_a_draining_server_gets_no_makes_and_is_alive(farm: Farm) -> None:
    a = farm.add("a")
    farm.report(a, 1, draining=True)
    assert farm.make() == ""
    assert a.state(farm.now) == State.STATE_DRAINING
    assert farm.locate(a) == Liveness.LIVENESS_ALIVE


def test_a_silent_server_is_suspect_and_comes_back(farm: Farm) -> None:
    a, b = farm.add("a"), farm.add("b")
    farm.wait(SUSPECT_SECONDS + TICK, b)
    assert farm.locate(a) == Liveness.LIVENESS_SUSPECT
    assert [farm.make(), farm.make()] == ["b", "b"]
    farm.report(a, 0)
    assert farm.locate(a) == Liveness.LIVENESS_ALIVE
    assert farm.make() == "a"


def test_a_registration_that_ends_makes_a_server_suspect_at_once(farm: Farm) -> None:
    a = farm.add("a")
    farm.registry.disconnect(a, farm.now)
    assert farm.locate(a) == Liveness.LIVENESS_SUSPECT
    assert farm.registry.sweep(farm.now) == [a]


def test_dead_takes_silence_and_a_failed_probe(farm: Farm) -> None:
    a = farm.add("a")
    farm.wait(DEAD_SECONDS - TICK)
    farm.registry.probed(a, False, farm.now)
    assert farm.locate(a) == Liveness.LIVENESS_SUSPECT  # not silent for long enough
    farm.wait(10 * DEAD_SECONDS)
    farm.registry.probed(a, True, farm.now)
    assert farm.locate(a) == Liveness.LIVENESS_SUSPECT  # it answers
    farm.registry.probed(a, False, farm.now)
    assert farm.locate(a) == Liveness.LIVENESS_DEAD
    assert farm.dead == [a]
    assert farm.registry.sweep(farm.now) == []


def test_a_server_that_is_silent_to_a_client_as_well_is_dead_earlier(farm: Farm) -> None:
    a = farm.add("a")
    farm.wait(AGREED_DEAD_SECONDS - TICK)
    farm.registry.probed(a, False, farm.now)
    assert farm.locate(a, silent=True) == Liveness.LIVENESS_SUSPECT  # not silent for long enough
    farm.wait(TICK)
    assert farm.locate(a) == Liveness.LIVENESS_SUSPECT  # a client that asks knows nothing
    farm.registry.probed(a, True, farm.now)
    assert farm.locate(a, silent=True) == Liveness.LIVENESS_SUSPECT  # it answers the gateway
    farm.registry.probed(a, False, farm.now)
    assert farm.locate(a, silent=True) == Liveness.LIVENESS_DEAD
    assert farm.dead == [a]
    assert farm.locate(a, silent=True) == Liveness.LIVENESS_DEAD


def test_a_live_server_is_not_dead_because_a_client_says_so(farm: Farm) -> None:
    a = farm.add("a")
    farm.registry.probed(a, False, farm.now)
    farm.wait(10 * DEAD_SECONDS, a)
    assert farm.locate(a, silent=True) == Liveness.LIVENESS_ALIVE
    farm.wait(AGREED_DEAD_SECONDS)  # the failed probe was before its last report
    assert farm.locate(a, silent=True) == Liveness.LIVENESS_SUSPECT


def test_a_broken_registration_and_a_failed_probe_are_enough(farm: Farm) -> None:
    a, b = farm.add("a"), farm.add("b")
    farm.registry.disconnect(a, farm.now)
    assert farm.cut == [a]
    farm.wait(CUT_DEAD_SECONDS - TICK / 2, b)
    farm.registry.probed(a, False, farm.now)
    assert not farm.dead  # it may be about to register again
    farm.wait(TICK / 2, b)
    farm.registry.probed(a, True, farm.now)
    farm.registry.probed(b, False, farm.now)
    assert not farm.dead
    farm.registry.probed(a, False, farm.now)
    assert farm.dead == [a]


def test_a_registration_that_broke_while_the_gateway_stood_still_is_no_sign(farm: Farm) -> None:
    a, b = farm.add("a"), farm.add("b")
    farm.registry.disconnect(a, farm.now)
    farm.now += 20.0
    farm.registry.disconnect(b, farm.now)
    farm.wait(DEAD_SECONDS - TICK)
    for each in (a, b):
        farm.registry.probed(each, False, farm.now)
    assert not farm.dead
    farm.wait(TICK)
    for each in (a, b):
        farm.registry.probed(each, False, farm.now)
    assert farm.dead == [a, b]


def test_a_server_that_was_found_dead_may_register_again(farm: Farm) -> None:
    a = farm.add("a")
    farm.wait(DEAD_SECONDS)
    farm.registry.probed(a, False, farm.now)
    again = farm.add("a")
    assert farm.locate(again) == Liveness.LIVENESS_ALIVE
    assert farm.make() == "a"


def test_a_server_that_was_restarted_takes_the_place_of_its_earlier_run(farm: Farm) -> None:
    before = farm.add("a", run="1")
    farm.registry.disconnect(before, farm.now)
    farm.add("a", run="2")
    assert farm.locate(before) == Liveness.LIVENESS_DEAD
    assert farm.dead == [before]
    assert len(list(farm.registry)) == 1


def test_a_server_that_registers_again_keeps_what_is_known_of_it(farm: Farm) -> None:
    a = farm.add("a")
    farm.report(a, 2)
    claimed = farm.registry.claim(POLE, farm.now)
    assert claimed is a
    again = farm.add("a")
    farm.registry.disconnect(a, farm.now)  # the earlier connection ends late
    assert farm.locate(again) == Liveness.LIVENESS_ALIVE
    farm.registry.settle(a, made=True)
    assert (again.active, again.pending) == (3, 0)


def test_a_server_that_says_goodbye_is_gone_with_its_sessions(farm: Farm) -> None:
    a = farm.add("a")
    farm.registry.leave(a, farm.now)
    assert farm.locate(a) == Liveness.LIVENESS_DEAD
    assert list(farm.registry) == []


def test_a_new_gateway_knows_nothing_of_sessions(farm: Farm) -> None:
    assert farm.registry.locate("abc-a1", farm.now) == (Liveness.LIVENESS_UNKNOWN, "")
    farm.add("a")
    assert farm.registry.locate("abc-a1", farm.now) == (Liveness.LIVENESS_ALIVE, "a:1")


@pytest.mark.parametrize("first", ["probe", "locate", "sweep", "claim"])
def test_a_gateway_that_stood_still_pronounces_nobody_dead(farm: Farm, first: str) -> None:
    a, b = farm.add("a"), farm.add("b")
    farm.now += 20.0  # stopped, and continued: whatever it does first
    if first == "probe":
        farm.registry.probed(a, False, farm.now)  # begun before, timed out meanwhile
    elif first == "locate":
        farm.locate(a)
    elif first == "sweep":
        farm.registry.sweep(farm.now)
    else:
        assert farm.make() == ""
    assert [farm.locate(each) for each in (a, b)] == [Liveness.LIVENESS_UNKNOWN] * 2
    assert not farm.dead
    farm.report(a, 1)
    assert [farm.locate(each) for each in (a, b)] == [
        Liveness.LIVENESS_ALIVE,
        Liveness.LIVENESS_UNKNOWN,
    ]
    assert farm.make() == "a"
    # The other one does not report: its silence counts from now on, and for longer than what a client says.
    farm.wait(DEAD_SECONDS - TICK, a)
    farm.registry.probed(b, False, farm.now)
    assert farm.locate(b, silent=True) == Liveness.LIVENESS_UNKNOWN
    assert not farm.dead
    farm.wait(TICK, a)
    farm.registry.probed(b, False, farm.now)
    assert farm.dead == [b]


def test_every_state_has_a_liveness() -> None:
    assert set(LIVENESS) == set(State.values()) - {State.STATE_UNSPECIFIED}


def test_a_dead_server_is_listed_for_a_while(farm: Farm) -> None:
    a = farm.add("a")
    farm.wait(DEAD_SECONDS)
    farm.registry.probed(a, False, farm.now)
    assert [each.state(farm.now) for each in farm.registry] == [State.STATE_DEAD]
    farm.wait(700.0)
    assert list(farm.registry) == []


def test_makes_go_through_tunnels_and_allocations_do_not(farm: Farm) -> None:
    far = farm.add("far", tunnelled=True)
    assert farm.registry.divide(Requirements("CartPole-v1", direct=True), 1, farm.now) is None
    near = farm.add("near")
    assert farm.registry.divide(Requirements("CartPole-v1", direct=True), 2, farm.now) == {near: 2}
    assert farm.registry.claim(POLE, farm.now) is far
    assert farm.registry.locate("x-far1", farm.now) == (Liveness.LIVENESS_ALIVE, "")
    assert farm.registry.locate("x-near1", farm.now) == (Liveness.LIVENESS_ALIVE, "near:1")


def test_a_session_that_the_server_reports_before_it_answers_counts_once(farm: Farm) -> None:
    member = farm.add("a", slots=2)
    assert farm.registry.claim(POLE, farm.now) is member
    farm.report(member, active=1)
    farm.registry.settle(member, made=True)
    assert member.load == 1
    assert farm.make() == "a", "the other slot is free"
    assert member.load == 2
    farm.report(member, active=2)
    assert member.load == 2


def test_slots_that_are_kept_count_though_a_report_came_before_the_server_kept_them(
    farm: Farm,
) -> None:
    """Its answer comes over the registration, as its reports do: those that come earlier do not count the slots."""
    member = farm.add("a", slots=4, keeps_slots=True)
    shares = farm.registry.divide(POLE, 2, farm.now)
    farm.report(member)
    farm.registry.settle_shares(shares or {}, kept=True, now=farm.now)
    assert member.load == 2


def test_a_make_that_fails_after_a_report_counts_until_the_next(farm: Farm) -> None:
    member = farm.add("a", slots=2)
    farm.registry.claim(POLE, farm.now)
    farm.report(member, active=1)
    farm.registry.settle(member, made=False)
    assert member.load == 1
    farm.report(member, active=0)
    assert member.load == 0
    assert farm.make() == "a"
    assert member.load == 1
