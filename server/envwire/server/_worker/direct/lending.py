"""Lends connections of clients to programs that serve them themselves (see `_worker.program.loan`)."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from envwire.server._worker.direct.channel import Channel
from envwire.server._worker.poller import Poller
from envwire.server._worker.program.lending_session import LendingSession
from envwire.server._worker.program.loan import Returned
from envwire.server._worker.sessions import ServedSession

#: Pause between two looks at what a program has counted: the front learns from it what steps, and what hangs.
_COUNT_SECONDS = 0.1
#: Called with a connection that a program gave back.
GivenBack = Callable[[Returned], None]


class Lending:
    """The connections of a process that are lent.

    Args:
        poller: The poller that watches channels, and programs in place of channels that are lent.
    """

    def __init__(self, poller: Poller) -> None:
        self._poller = poller
        self._lent: dict[ServedSession, LendingSession] = {}

    def lend(self, served: ServedSession, channel: Channel, given_back: GivenBack) -> None:
        """Lends a session's program the connection, unless something has come on it, or the program takes none.

        Args:
            served: The session.
            channel: Its channel, which is watched.
            given_back: Called when the program gives it back, and nothing is watched.
        """
        session, lendable = served.session, channel.lendable()
        if lendable is None or not isinstance(session, LendingSession):
            return
        if not session.program.lend(lendable):
            return
        self._poller.unwatch(channel.fileno())
        self._lent[served] = session
        take_back = partial(self._take_back, served, given_back)
        self._poller.watch(session.program.fileno(), take_back)
        self._count(session)

    def recall(self, served: ServedSession) -> Returned | None:
        """Takes a connection back after the request that its program is serving; returns None if it is not lent."""
        session = self._lent.get(served)
        if session is None:
            return None
        returned = session.program.recall()
        self._end(served, session)
        return returned

    def forget(self, served: ServedSession) -> bool:
        """Stops waiting for a connection, which the caller closes; returns whether it was lent."""
        session = self._lent.get(served)
        if session is not None:
            self._end(served, session)
        return session is not None

    def _end(self, served: ServedSession, session: LendingSession) -> None:
        del self._lent[served]
        self._poller.unwatch(session.program.fileno())
        session.count_lent()

    def _count(self, session: LendingSession) -> None:
        session.count_lent()
        again = partial(self._count, session)
        self._poller.remind(session.program.fileno(), _COUNT_SECONDS, again)

    def _take_back(self, served: ServedSession, given_back: GivenBack) -> None:
        session = self._lent[served]
        returned = session.program.given_back()
        self._end(served, session)
        given_back(returned)
