"""The model of servers and sessions follows from the rounds that servers report."""

from __future__ import annotations

import pytest

from envwire.dashboard.model import NOTHING, Fleet, Server
from envwire.observe.v1 import observe_pb2 as pb


def tell(server: Server, now: float, *sessions: pb.SessionStatus, run: str = "a") -> None:
    status = pb.ServerStatus(incarnation=run, now=now, active_sessions=1, max_sessions=2)
    server.take(pb.WatchResponse(server=status))
    server.take(pb.WatchResponse(sessions=sessions, complete=True))


def session(**fields: float) -> pb.SessionStatus:
    counted = {name: int(value) for name, value in fields.items() if name == "steps"}
    status = pb.SessionStatus(session_id="one", began=1.0, state=pb.SessionStatus.STATE_IDLE)
    status.steps = counted.get("steps", 0)
    status.serving, status.stepping = fields.get("serving", 0.0), fields.get("stepping", 0.0)
    status.processor_time = fields.get("processor_time", 0.0)
    return status


@pytest.fixture
def server() -> Server:
    return Fleet().server("127.0.0.1:50051")


def test_a_rate_is_the_difference_of_two_rounds(server: Server) -> None:
    tell(server, 10.0, session(steps=100, serving=1.0, stepping=0.5, processor_time=3.0))
    assert server.sessions["one"].doing == NOTHING
    tell(server, 12.0, session(steps=300, serving=2.0, stepping=1.3, processor_time=3.5))
    doing = server.sessions["one"].doing
    assert doing == pytest.approx((100.0, 0.4, 0.1, 0.5, 0.25))
    assert server.sessions["one"].age == 11.0


def test_a_session_that_steps_is_busy_though_it_waits_just_now(server: Server) -> None:
    tell(server, 1.0, session(steps=1))
    assert server.sessions["one"].state == "idle"
    tell(server, 2.0, session(steps=9, serving=0.1))
    assert server.sessions["one"].state == "busy"
    tell(server, 3.0)
    assert server.sessions["one"].state == "idle"


def test_what_a_round_does_not_tell_of_did_nothing(server: Server) -> None:
    tell(server, 1.0, session(steps=1))
    tell(server, 2.0, session(steps=9))
    assert server.sessions["one"].doing.steps == 8.0
    tell(server, 3.0)
    assert server.sessions["one"].doing == NOTHING


def test_counters_that_a_hostile_environment_wrote_stay_parts_of_the_time(server: Server) -> None:
    tell(server, 1.0, session())
    tell(server, 2.0, session(serving=1e9, stepping=2e9))
    assert server.sessions["one"].doing == (0.0, 1.0, 0.0, 0.0, 0.0)


def test_another_run_begins_anew(server: Server) -> None:
    tell(server, 100.0, session(steps=100))
    server.take(pb.WatchResponse(ended=[pb.SessionEnd(session_id="zero")]))
    tell(server, 1.0, session(steps=1), run="b")
    assert server.sessions["one"].doing == NOTHING
    assert not server.ended


def test_ended_sessions_are_kept_apart_and_bounded(server: Server) -> None:
    tell(server, 1.0, session())
    ends = [pb.SessionEnd(session_id=name) for name in ("one", *map(str, range(1000)))]
    server.take(pb.WatchResponse(ended=ends))
    assert not server.sessions
    assert len(server.ended) == 1000
    assert "one" not in server.ended


@pytest.mark.parametrize(
    ("farm_state", "error", "draining", "active", "state"),
    [
        ("", "", False, 1, "free"),
        ("", "", False, 2, "busy"),
        ("", "", True, 2, "draining"),
        ("", "refused", True, 2, "unreachable"),
        ("free", "", False, 2, "busy"),
        ("draining", "", False, 1, "draining"),
        ("dead", "refused", False, 1, "dead"),
        ("suspect", "", False, 1, "suspect"),
    ],
)
def test_the_state_of_a_server(
    server: Server, farm_state: str, error: str, draining: bool, active: int, state: str
) -> None:
    status = pb.ServerStatus(draining=draining, active_sessions=active, max_sessions=2)
    server.take(pb.WatchResponse(server=status))
    server.farm_state, server.error = farm_state, error
    assert server.state == state
