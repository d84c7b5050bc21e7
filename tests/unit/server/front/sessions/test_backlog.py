"""Waiting requests are bounded, by session and by client; answered and lost ones no longer count."""

from __future__ import annotations

import asyncio
from collections import deque
from types import SimpleNamespace
from typing import Any

import pytest

from envwire.codec import FaultError, Reason
from envwire.server._front.sessions.backlog import COUNTED_FROM, MAX_PENDING, Backlog
from envwire.server._front.sessions.record import SessionRecord

LARGE = 10 * COUNTED_FROM


class Waiting:
    """The requests of one session that wait, as its record has them."""

    def __init__(self, backlog: Backlog) -> None:
        self._backlog = backlog
        self._owner = ""
        self._sizes: deque[int] = deque()

    def take(self, owner: str, size: int) -> None:
        self._sizes.append(self._backlog.take(owner, size, self._sizes))
        self._owner = owner

    def give_back(self) -> bool:
        self._backlog.give_back(self._owner, self._sizes.popleft())
        return bool(self._sizes)

    def clear(self) -> None:
        self._backlog.give_back(self._owner, sum(self._sizes))
        self._sizes.clear()


def refused(session: Waiting, size: int, owner: str = "alice") -> bool:
    try:
        session.take(owner, size)
    except FaultError as fault:
        return fault.reason is Reason.CAPACITY_REACHED and fault.retry_after is not None
    return False


def test_a_request_and_its_repetition_may_be_of_any_size() -> None:
    session = Waiting(Backlog(LARGE, 100 * LARGE))
    assert [refused(session, 5 * LARGE) for _ in range(3)] == [False, False, True]
    session.give_back()
    assert not refused(session, 5 * LARGE)


def test_more_are_bounded() -> None:
    session = Waiting(Backlog(4 * LARGE, 100 * LARGE))
    assert [refused(session, LARGE) for _ in range(6)] == [False] * 4 + [True] * 2
    assert not refused(session, 100), "small ones do not count"
    session.clear()
    assert not refused(session, LARGE)
    assert not session.give_back(), "it was the only one"


@pytest.mark.parametrize("backlog", [Backlog(), Backlog(LARGE, LARGE)])
def test_their_number_is_bounded_whatever_their_size(backlog: Backlog) -> None:
    session = Waiting(backlog)
    assert not any(refused(session, 1) for _ in range(MAX_PENDING))
    assert refused(session, 1)
    assert session.give_back(), "others wait"
    assert not refused(session, 1)


def test_a_client_has_its_share() -> None:
    backlog = Backlog(LARGE, 3 * LARGE)
    sessions = [Waiting(backlog) for _ in range(4)]
    assert [refused(session, LARGE) for session in sessions] == [False] * 3 + [True]
    assert not refused(sessions[3], LARGE, "bob")
    sessions[0].give_back()
    assert not refused(sessions[0], LARGE)
    for session in sessions:
        session.clear()
    assert not backlog.held


def test_one_request_beyond_the_share_is_served() -> None:
    backlog = Backlog(LARGE, LARGE)
    assert not refused(Waiting(backlog), 5 * LARGE)
    assert refused(Waiting(backlog), LARGE)


@pytest.mark.parametrize("size", [0, COUNTED_FROM - 1, 100 * LARGE])
def test_without_bounds(size: int) -> None:
    session = Waiting(Backlog())
    assert not any(refused(session, size) for _ in range(10))
    for _ in range(10):
        session.give_back()


def test_a_session_gives_back_what_its_process_answered() -> None:
    async def play() -> None:
        link = SimpleNamespace(ask=lambda _: asyncio.get_running_loop().create_future())
        process: Any = SimpleNamespace(open=lambda _: link)
        backlog = Backlog(4 * LARGE, 100 * LARGE)
        session = SessionRecord(
            60.0,
            lambda: 0.0,
            60.0,
            lambda *_: None,
            process,
            "name",
            backlog=backlog,
            owner="alice",
        )
        asking = [asyncio.ensure_future(session.ask(bytes(LARGE))) for _ in range(2)]
        await asyncio.sleep(0)
        assert backlog.held == {"alice": 2 * LARGE}
        session.on_reply()
        assert backlog.held == {"alice": LARGE}
        assert session.liveness.busy_since is not None, "another reply is pending"
        session.on_reply()
        assert not backlog.held
        for each in asking:
            each.cancel()

    asyncio.run(play())
