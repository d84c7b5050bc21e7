"""Steps are recognised by their first bytes, at any length; other messages are not. Sweeps reach every session."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from envwire.codec import FaultError, Reason
from envwire.server._front.front import find_step
from envwire.server._front.sessions.life import LifeEvent
from envwire.server._front.sessions.table import Sessions
from envwire.v1 import environment_pb2 as pb
from envwire.wire.envelope import session_header

NAME, SECRET = "0" * 49, b"s" * 16


def step(size: int, secret: bytes = SECRET) -> bytes:
    request = pb.InteractRequest()
    request.step.header.session_id, request.step.header.secret = NAME, secret
    request.step.sequence = 1
    request.step.action.string_value = "x" * size
    return request.SerializeToString()


@pytest.fixture
def sessions() -> Sessions:
    made = Sessions(1, lambda: 0.0, "test")
    made.reserve()
    live: Any = SimpleNamespace(id=NAME, owner="", header=session_header(NAME, SECRET))
    made.add(live)
    return made


@pytest.mark.parametrize("size", [1, 60, 1000, 17_000, 3_000_000])
def test_a_step_is_recognised_by_name_and_secret(sessions: Sessions, size: int) -> None:
    session, bare = cast("Any", find_step(step(size), sessions.live))
    assert session.id == NAME
    expected = pb.InteractRequest.FromString(step(size))
    expected.step.ClearField("header")
    assert bare == expected.SerializeToString()
    assert find_step(step(size, b"t" * 16), sessions.live) is None


@pytest.mark.parametrize("end", [0, 1, 2, 3, 20, 54])
def test_a_step_that_is_cut_off_is_not(sessions: Sessions, end: int) -> None:
    assert find_step(step(17_000)[:end], sessions.live) is None
    assert find_step(step(17_000)[:1] + b"\xff" * end, sessions.live) is None


@pytest.mark.parametrize(
    "behind",
    [
        pb.InteractRequest(make=pb.MakeRequest(env_id="Forbidden-v0")).SerializeToString(),
        pb.InteractRequest(close=pb.CloseRequest(sequence=1)).SerializeToString(),
        b"\0",
        b"\xff",
    ],
)
def test_a_step_with_something_behind_it_is_not(sessions: Sessions, behind: bytes) -> None:
    """Protobuf takes the last of several requests: what begins like a step may be a Make."""
    assert find_step(step(1) + behind, sessions.live) is None
    assert find_step(step(1), sessions.live) is not None


class Idle:
    """A session whose lease has run out, and whose poll may fail."""

    owner, label, log_fields = "", "session", {}

    def __init__(self, name: str, fails: bool) -> None:
        self.id, self._fails = name, fails
        self.events: list[LifeEvent] = []
        self.liveness = SimpleNamespace(overdue=lambda _: False, expired=lambda _: True)
        self.end = self.events.append

    def poll(self) -> None:
        """Fails, if it is to."""
        if self._fails:
            raise RuntimeError("broken scoreboard")


def test_a_session_that_fails_does_not_keep_the_others_from_being_swept(
    caplog: pytest.LogCaptureFixture,
) -> None:
    sessions = Sessions(3, lambda: 0.0, "test")
    there = [Idle("a", fails=False), Idle("b", fails=True), Idle("c", fails=False)]
    for each in there:
        sessions.add(cast("Any", each))
    sessions.sweep()
    assert [each.events for each in there] == [[LifeEvent.EXPIRE], [], [LifeEvent.EXPIRE]]
    assert "broken scoreboard" in caplog.text


def test_sessions_are_found_by_those_who_know_the_secret_until_they_end() -> None:
    sessions = Sessions(1, lambda: 0.0, "test")
    live: Any = SimpleNamespace(id=NAME, owner="", secret=SECRET, requests=0)
    sessions.add(live)

    def reason(name: str, secret: bytes) -> Reason:
        with pytest.raises(FaultError) as told:
            sessions.find(name, secret)
        return told.value.reason

    assert sessions.find(NAME, SECRET) is live
    assert reason(NAME, b"t" * 16) is Reason.WRONG_SECRET
    assert reason("another", SECRET) is Reason.UNKNOWN_SESSION
    assert reason("", SECRET) is Reason.MALFORMED_REQUEST


def test_a_session_is_fresh_until_it_has_served_a_request() -> None:
    sessions = Sessions(1, lambda: 0.0, "test")
    live: Any = SimpleNamespace(id=NAME, owner="", requests=0)
    sessions.add(live)
    assert sessions.is_fresh(NAME)
    live.requests = 1
    assert not sessions.is_fresh(NAME)
    assert not sessions.is_fresh("another")


@pytest.mark.parametrize(("capacity", "text"), [(1, "the one session"), (2, "all 2 sessions")])
def test_a_full_server_says_so(capacity: int, text: str) -> None:
    sessions = Sessions(capacity, lambda: 0.0, "test")
    for _ in range(capacity):
        sessions.reserve()
    with pytest.raises(FaultError, match=text) as told:
        sessions.reserve()
    assert told.value.reason is Reason.CAPACITY_REACHED
    assert len(sessions) == capacity
    sessions.unreserve()
    sessions.reserve()
