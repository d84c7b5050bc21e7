"""Who has used the slots of a server: sessions and their time, by client and environment, for accounting."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from envwire.server._front.sessions.record import SessionRecord

#: Number of pairs of client and environment; clients choose ids, and each client without a token is its address.
MOST = 1000


class Holder(NamedTuple):
    """Who held slots, and for what.

    Attributes:
        owner: Name of the client.
        env_id: Id of the environment.
    """

    owner: str
    env_id: str


#: All that are beyond the bound.
OTHERS = Holder("others", "")


@dataclass
class Use:
    """What one holder used.

    Attributes:
        sessions: Number of sessions, open ones and those that were not made included.
        open: Number of open ones.
        seconds: Time that they held a slot.
    """

    sessions: int = 0
    open: int = 0
    seconds: float = 0.0


class SlotUsage:
    """The use of one server's slots since it started."""

    def __init__(self) -> None:
        self._ended: dict[Holder, Use] = {}

    def add(self, session: SessionRecord) -> None:
        """Adds a session that ended."""
        _add(self._ended, session, is_open=False)

    def with_open(self, sessions: Iterable[SessionRecord]) -> Iterator[tuple[Holder, Use]]:
        """Yields the use by holder, with that of open sessions."""
        used = {holder: Use(each.sessions, 0, each.seconds) for holder, each in self._ended.items()}
        for session in sessions:
            _add(used, session, is_open=True)
        return iter(used.items())


def _add(used: dict[Holder, Use], session: SessionRecord, *, is_open: bool) -> None:
    holder = Holder(session.owner, session.env_id)
    if holder not in used and len(used) >= MOST - 1:
        holder = OTHERS
    use = used.setdefault(holder, Use())
    use.sessions += 1
    use.open += is_open
    use.seconds += session.clock() - session.began
