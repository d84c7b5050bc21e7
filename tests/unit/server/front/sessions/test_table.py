"""Steps are recognised by their first bytes, at any length; other messages are not. Sweeps reach every session."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from envwire.server._front.front import find_step
from envwire.server._front.sessions.life import Event
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
        self.events: list[Event] = []
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
    assert [each.events for each in there] == [[Event.EXPIRE], [], [Event.EXPIRE]]
    assert "broken scoreboard" in caplog.text
