"""The status messages for one watcher: everything in the first round, then only changes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice

from envwire.observe.v1 import observe_pb2 as pb
from envwire.server._front.observing.history import History
from envwire.server._front.sessions.record import SessionRecord
from envwire.server._front.sessions.table import Sessions
from envwire.server._ipc.scoreboard_row import Counters, loss_reason
from envwire.server._processes.resources import usage_of

#: Most sessions and ends in one message, some 100 kB. Between two messages the front serves others.
MAX_PER_MESSAGE = 500
#: Largest uint32; the process writes 64 bits.
_LARGEST = 2**32 - 1


@dataclass(eq=False)
class Rounds:
    """The rounds of one watcher.

    Attributes:
        sessions: The server's sessions.
        history: Its ended sessions.
        status: Describes the server.
        began: When the server began, by its clock.
        frames: Whether the operator allows pictures.
    """

    sessions: Sessions
    history: History
    status: Callable[[], pb.ServerStatus]
    began: float
    frames: bool

    def __post_init__(self) -> None:
        """Begins with nothing told."""
        self._told: dict[str, tuple[str, int, int, bool]] = {}
        self._ends_told = 0

    def next(self, sees: Callable[[str], bool]) -> Iterator[pb.WatchResponse]:
        """Returns the messages of the next round.

        Args:
            sees: Returns whether the watcher may see the sessions of a client.
        """
        status: pb.ServerStatus | None = self.status()
        changed = self._changed(sees)
        told = self.history.since(self._ends_told)
        ended = iter([each for each in told if sees(each.summary.client)])
        self._ends_told = self.history.count
        complete = False
        while not complete:
            response = pb.WatchResponse(
                sessions=list(islice(changed, MAX_PER_MESSAGE)),
                ended=[each.summary for each in islice(ended, MAX_PER_MESSAGE)],
            )
            complete = max(len(response.sessions), len(response.ended)) < MAX_PER_MESSAGE
            response.complete = complete
            if status is not None:
                response.server.CopyFrom(status)
                status = None
            yield response

    def _changed(self, sees: Callable[[str], bool]) -> Iterator[pb.SessionStatus]:
        before, self._told = self._told, {}
        for session in self.sessions:
            if not sees(session.owner):
                continue
            mark = _mark(session)
            self._told[session.id] = mark
            if before.get(session.id) != mark:
                yield session_status(session, self.began, self.frames)


def _mark(session: SessionRecord) -> tuple[str, int, int, bool]:
    """Returns a value that changes whenever a session does."""
    return session.state, session.requests, session.steps, session.liveness.attached


def session_status(session: SessionRecord, began: float, frames: bool) -> pb.SessionStatus:
    """Describes a session.

    Args:
        session: The session.
        began: When the server began, by its clock.
        frames: Whether the operator allows pictures.
    """
    status = session_counters(session.counters)
    status.session_id, status.env_id, status.client = session.id, session.env_id, session.owner
    status.state = pb.SessionStatus.State.Value(session.state)
    status.began = session.began - began
    if not session.liveness.attached:
        status.idle_since = session.liveness.lease_runs_from - began
    status.process_id = session.process.pid
    if taken := usage_of(session.process.pid):
        status.processor_time, status.memory = taken
    status.frames = frames and session.renders
    return status


def session_counters(seen: Counters) -> pb.SessionStatus:
    """Describes a session's counters, as reported by its process."""
    return pb.SessionStatus(
        requests=seen.requests,
        steps=seen.steps,
        serving=seen.serving / 1e9,
        stepping=seen.stepping / 1e9,
        replying=seen.replying / 1e9,
        episodes=seen.episodes,
        episode_steps=seen.lengths,
        episode_returns=seen.returns,
        repeated=seen.repeated,
        replayed=seen.replayed,
        epoch=min(seen.epoch, _LARGEST),
        loss=loss_reason(seen.loss) if seen.epoch else "",
    )
