"""The status messages for one watcher: everything in the first round, then only changes.

What watchers learn of the past is kept here: the events of a session, and why ended sessions ended, with their last
output.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice

from envwire.codec import FaultError
from envwire.observe.v1 import observe_pb2 as pb
from envwire.server._front.sessions.record import SessionRecord
from envwire.server._front.sessions.table import Sessions
from envwire.server._grammar import counted
from envwire.server._ipc.frames import Picture
from envwire.server._ipc.scoreboard import Counters, Episode, loss_reason
from envwire.server._processes.resources import usage_of

#: Number of ended sessions to keep, of some 2.5 kB each, and number of the latest ones to keep with output (4 kB of
#: text), episodes and last picture (at most 300 kB) as well.
KEPT, _IN_DETAIL = 1000, 64

#: Time in seconds of the server's clock, and description.
Moment = tuple[float, str]


@dataclass
class Ended:
    """A session that has ended.

    Attributes:
        summary: What every watcher is told about it.
        exit_status: Exit status of its process, as text; empty if unknown.
        events: Its latest events, with their times by the server's clock.
        output: The last output of its process.
        picture: The last picture that was taken.
        last: Its final counters.
        episodes: Its last episodes.
    """

    summary: pb.SessionEnd
    exit_status: str
    events: tuple[Moment, ...]
    output: str
    picture: Picture | None
    last: Counters
    episodes: list[Episode]


class History:
    """The latest ended sessions.

    Args:
        began: When the server began, by its clock, in seconds.
    """

    def __init__(self, began: float) -> None:
        self._began = began
        self._ended: OrderedDict[str, Ended] = OrderedDict()
        self._detailed: OrderedDict[str, Ended] = OrderedDict()
        self.count = 0

    def note(self, session: SessionRecord, reason: FaultError) -> None:
        """Adds a session that has just ended, with its end reason."""
        self.count += 1
        ended = Ended(
            pb.SessionEnd(
                session_id=session.id,
                env_id=session.env_id,
                client=session.owner,
                began=session.began - self._began,
                ended=session.clock() - self._began,
                reason=reason.reason.value,
                message=reason.message,
                steps=session.steps,  # those after the last poll of a process that died are missing
            ),
            exit_status=reason.metadata.get("exit_status", ""),
            events=timeline(session),
            output=reason.output or session.output,
            picture=session.picture,
            last=session.counters,
            episodes=list(session.episodes),
        )
        self._ended[session.id] = self._detailed[session.id] = ended
        if len(self._ended) > KEPT:
            self._ended.popitem(last=False)
        if len(self._detailed) > _IN_DETAIL:
            _, poorer = self._detailed.popitem(last=False)
            poorer.output, poorer.picture, poorer.episodes = "", None, []

    def get(self, session_id: str) -> Ended | None:
        """Returns an ended session; None if it is not kept."""
        return self._ended.get(session_id)

    def since(self, number: int) -> Iterator[Ended]:
        """Returns the kept sessions that ended after the one with this number."""
        wanted = min(self.count - number, len(self._ended))
        newest = iter(reversed(self._ended.values()))
        return reversed([next(newest) for _ in range(wanted)])


def timeline(session: SessionRecord) -> tuple[Moment, ...]:
    """Returns the events of a session so far, oldest first: those in the front, and what its process counted."""
    return tuple(sorted([*session.events, *_counted(session.counters)]))


def _counted(seen: Counters) -> list[Moment]:
    """Returns the repeated requests and the replay, each with the time of the last one."""
    moments: list[Moment] = []
    if seen.repeated:
        told = f"{counted(seen.repeated, 'request')} came again so far"
        moments.append((seen.repeated_at / 1e9, told))
    if seen.replayed:
        what = f"{counted(seen.replayed, 'request')} of an earlier session replayed"
        if seen.epoch:
            what += f": session {seen.epoch + 1} of its client, after {loss_reason(seen.loss)}"
        moments.append((seen.replayed_at / 1e9, what))
    return moments


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
