"""The history of ended sessions is bounded, and each watcher gets the entries that are new to it."""

from __future__ import annotations

from typing import Any

from envwire.codec import FaultError, Reason
from envwire.server._front.observed_status import KEPT, History, timeline
from envwire.server._ipc.frames import Picture
from envwire.server._ipc.scoreboard import Counters, Episode


def counted(**columns: int) -> Counters:
    """Returns counters that are 0 but for some."""
    return Counters(**{**dict.fromkeys(Counters._fields, 0), **columns})


class Session:
    """A session that has ended."""

    env_id, owner, output, began, steps = "CartPole-v1", "token alice", "words", 1.0, 5
    picture = Picture(1, 1, b"rgb", "", 0.1)
    counters = counted(repeated=2, repeated_at=10**9, replayed=7, replayed_at=5, epoch=1, loss=0)
    episodes = (Episode(1.5, 3, 10),)

    def __init__(self, number: int) -> None:
        self.id = f"session {number}"
        self.events: list[tuple[float, str]] = []

    def clock(self) -> float:
        return 2.0


CLOSED = FaultError(Reason.SESSION_CLOSED, "closed")


def history(count: int) -> History:
    history = History(1.0)
    for number in range(1, count + 1):
        session: Any = Session(number)
        history.note(session, CLOSED)
    return history


def numbers(history: History, since: int) -> list[int]:
    return [int(each.summary.session_id.split()[1]) for each in history.since(since)]


def test_a_watcher_is_told_what_is_new_in_order() -> None:
    noted = history(5)
    assert numbers(noted, 0) == [1, 2, 3, 4, 5]
    assert numbers(noted, 3) == [4, 5]
    assert numbers(noted, 5) == []


def test_the_oldest_are_forgotten_and_details_sooner() -> None:
    noted = history(KEPT + 7)
    assert numbers(noted, 0) == list(range(8, KEPT + 8))
    assert noted.get("session 7") is None
    newest, oldest = noted.get(f"session {KEPT + 7}"), noted.get("session 8")
    assert newest is not None
    assert oldest is not None
    assert (newest.output, newest.picture) == ("words", Session.picture)
    assert newest.episodes == list(Session.episodes)
    assert (oldest.output, oldest.picture, oldest.episodes) == ("", None, [])
    detailed = [each for each in noted.since(0) if each.picture]
    assert len(detailed) == 64


def test_the_timeline_has_what_the_process_counted_as_well() -> None:
    session: Any = Session(1)
    session.events += [(0.0, "made"), (0.5, "direct channel opened"), (2.0, "ended")]
    assert [text for _, text in timeline(session)] == [
        "made",
        "7 requests of an earlier session replayed: session 2 of its client, after UNKNOWN",
        "direct channel opened",
        "2 requests came again so far",
        "ended",
    ]


def test_one_request_is_told_as_one() -> None:
    session: Any = Session(1)
    session.counters = counted(repeated=1, replayed=1)
    assert [text for _, text in timeline(session)] == [
        "1 request came again so far",
        "1 request of an earlier session replayed",
    ]
