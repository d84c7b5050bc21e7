"""Sessions that have ended, as watchers see them: how, after what, and what their processes printed last."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass

from envwire.server._front.observing.timeline import timeline
from envwire.server._front.sessions.record import SessionRecord
from envwire.server._ipc.pictures import Picture
from envwire.server._ipc.scoreboard import Counters, Episode

#: Ended sessions that are remembered: some 2.5 kB each without output. The last ones are remembered with output (4 kB
#: of text), episodes and last picture (300 kB at most) as well.
KEPT, _IN_DETAIL = 1000, 64


@dataclass
class Ended:
    """A session that has ended.

    Attributes:
        number: Counts the ended sessions of the server.
        began: When it began, by the server's clock.
        ended: When it ended.
        steps: Steps that were seen; those after the last look at a process that died are not.
        exit_status: Of its process, as text; empty for unknown.
        picture: The last one that was taken.
        last: Its counters.
        episodes: The last that ended.
    """

    number: int
    session_id: str
    env_id: str
    client: str
    began: float
    ended: float
    reason: str
    message: str
    steps: int
    exit_status: str
    events: tuple[tuple[float, str], ...]
    output: str
    picture: Picture | None
    last: Counters
    episodes: list[Episode]


class History:
    """The last sessions that ended."""

    def __init__(self) -> None:
        self._ended: OrderedDict[str, Ended] = OrderedDict()
        self._detailed: OrderedDict[str, Ended] = OrderedDict()
        self.count = 0

    def note(self, session: SessionRecord, now: float) -> None:
        """Notes a session that has just ended.

        Args:
            session: The session.
            now: The time, by the server's clock.
        """
        reason = session.end_reason
        if reason is None:
            return
        self.count += 1
        ended = Ended(
            number=self.count,
            session_id=session.id,
            env_id=session.env_id,
            client=session.owner,
            began=session.began,
            ended=now,
            reason=reason.reason.value,
            message=reason.message,
            steps=session.steps,
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
        """Returns a session that has ended; None when it is not known."""
        return self._ended.get(session_id)

    def since(self, number: int) -> Iterator[Ended]:
        """Returns the sessions that ended after the one of this number, as far as they are remembered."""
        wanted = min(self.count - number, len(self._ended))
        newest = iter(reversed(self._ended.values()))
        return reversed([next(newest) for _ in range(wanted)])
