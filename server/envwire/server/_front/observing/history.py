"""What watchers learn of the past: the events of a session, and why ended sessions ended, with their last output."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass

from envwire.codec import FaultError
from envwire.observe.v1 import observe_pb2 as pb
from envwire.server._front.sessions.record import SessionRecord
from envwire.server._grammar import counted
from envwire.server._ipc.pictures import Picture
from envwire.server._ipc.scoreboard_row import Counters, Episode, loss_reason

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
