"""A watcher gets the whole state once, then the changes, in bounded parts."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from envwire.observe.v1 import observe_pb2 as pb
from envwire.server._front.observed_status import MAX_PER_MESSAGE, History, Rounds
from envwire.server._ipc.scoreboard import Counters
from tests.unit.server.front.observing.test_history import CLOSED, counted
from tests.unit.server.front.observing.test_history import Session as Ended


class Process:
    """A process by its number."""

    pid = 7


class Session:
    """A living session."""

    env_id, state, began = "CartPole-v1", "STATE_IDLE", 1.0
    renders = False
    process = Process()
    liveness = SimpleNamespace(attached=False, lease_runs_from=2.0)

    def __init__(self, number: int, owner: str = "token alice") -> None:
        self.id, self.owner = f"session {number}", owner
        self.requests = self.steps = 0

    @property
    def counters(self) -> Counters:
        return counted(requests=self.requests, steps=self.steps)


def everybody(_: str) -> bool:
    return True


def rounds(sessions: list[Session], history: History | None = None) -> Rounds:
    table: Any = sessions
    return Rounds(table, history or History(1.0), pb.ServerStatus, began=1.0, frames=True)


def test_a_round_comes_in_bounded_parts() -> None:
    told = list(
        rounds([Session(number) for number in range(2 * MAX_PER_MESSAGE + 1)]).next(everybody)
    )
    assert [len(part.sessions) for part in told] == [MAX_PER_MESSAGE, MAX_PER_MESSAGE, 1]
    assert [part.complete for part in told] == [False, False, True]
    assert [part.HasField("server") for part in told] == [True, False, False]


def test_after_the_first_round_only_changes_are_told() -> None:
    sessions = [Session(number) for number in range(3)]
    told = rounds(sessions)
    assert [len(part.sessions) for part in told.next(everybody)] == [3]
    assert [len(part.sessions) for part in told.next(everybody)] == [0]
    sessions[1].steps = sessions[1].requests = 5
    (part,) = told.next(everybody)
    assert [(each.session_id, each.steps) for each in part.sessions] == [("session 1", 5)]
    assert [len(part.sessions) for part in told.next(everybody)] == [0]


def test_sessions_and_ends_of_others_are_hidden() -> None:
    history = History(1.0)
    for number in (1, 2):
        ended: Any = Ended(number)
        ended.owner = f"token {number}"
        history.note(ended, CLOSED)
    sessions = [Session(3, "token 1"), Session(4, "token 2")]
    (part,) = rounds(sessions, history).next(lambda owner: owner == "token 2")
    assert [each.session_id for each in part.sessions] == ["session 4"]
    assert [each.session_id for each in part.ended] == ["session 2"]


def test_ends_are_told_once() -> None:
    history = History(1.0)
    told = rounds([], history)
    ended: Any = Ended(1)
    history.note(ended, CLOSED)
    assert [len(part.ended) for part in told.next(everybody)] == [1]
    assert [len(part.ended) for part in told.next(everybody)] == [0]
