"""How many servers a group should have, with a clock that the test sets."""

from __future__ import annotations

from typing import Any

from envwire.farm.gateway.groups.demand import Demand, Situation
from envwire.farm.gateway.groups.group_config import GroupConfig
from envwire.server.config import ServerConfig


def demand(**settings: Any) -> Demand:
    slots = settings.pop("slots", 4)
    server = ServerConfig(["CartPole-v1"], max_sessions=slots)
    given = {"max": 8, "idle": 10.0, **settings}
    return Demand(GroupConfig(name="pole", engine="local", server=server, **given))


def test_nothing_runs_while_nothing_waits() -> None:
    assert demand().target(Situation({}, 0), 0.0).servers == 0


def test_waiting_makes_get_all_servers_that_they_need_at_once() -> None:
    assert demand().target(Situation({}, 0, 9), 0.0).servers == 3
    assert demand().target(Situation({}, 0, 1000), 0.0).servers == 8


def test_starting_servers_are_not_started_again() -> None:
    assert demand().target(Situation({}, 3, 9), 0.0).servers == 3
    assert demand().target(Situation({"a": 4}, 3, 9), 0.0).servers == 4


def test_free_slots_are_used_first() -> None:
    assert demand().target(Situation({"a": 1}, 1, 3), 0.0).servers == 1
    assert demand().target(Situation({"a": 1}, 1, 4), 0.0).servers == 2


def test_slots_are_kept_free_while_the_group_is_used() -> None:
    spare = demand(free=2)
    assert spare.target(Situation({"a": 2}, 1), 0.0).servers == 1
    assert spare.target(Situation({"a": 3}, 1), 0.0).servers == 2
    assert spare.target(Situation({}, 0), 0.0).servers == 0


def test_servers_without_sessions_stop_in_the_end() -> None:
    some = demand()
    assert some.target(Situation({"a": 1, "b": 0}, 2), 0.0).servers == 2
    assert some.target(Situation({"a": 0, "b": 0}, 2), 6.0).servers == 2
    assert some.target(Situation({"a": 0, "b": 0}, 2), 10.0) == (1, ["b"])
    assert some.target(Situation({"a": 0}, 1), 16.0) == (0, ["a"])


def test_a_session_in_between_begins_the_time_anew() -> None:
    one = demand()
    one.target(Situation({"a": 0}, 1), 0.0)
    one.target(Situation({"a": 1}, 1), 9.0)
    assert one.target(Situation({"a": 0}, 1), 18.0).servers == 1


def test_the_fewest_servers_stay_and_come_back() -> None:
    two = demand(min=2)
    assert two.target(Situation({}, 0), 0.0).servers == 2
    two.target(Situation({"a": 0, "b": 0, "c": 0}, 3), 0.0)
    assert two.target(Situation({"a": 0, "b": 0, "c": 0}, 3), 20.0) == (2, ["a"])


def test_a_paused_group_stops_its_idle_servers_and_starts_none() -> None:
    seen = Situation({"a": 0, "b": 1}, 2, 100)
    assert demand(min=2).target(seen, 0.0, paused=True) == (1, ["a"])
