"""The direct channels of a session process: at most one for each session, the last that was opened."""

from __future__ import annotations

import socket
from collections.abc import Callable
from functools import partial

from envwire.server._ipc.scoreboard import Scoreboard
from envwire.server._worker.direct_channel import Channel, ChannelError
from envwire.server._worker.poller import Waiting
from envwire.server._worker.served_session import ServedSession
from envwire.server._worker.shared_memory import SharedSlots


class Channels:
    """The channels by their sessions.

    Args:
        waiting: Takes them among what is waited for.
        scoreboard: Where the front looks which are open.
        limit: Largest request, in bytes.
        answer: Called with session, channel and request of its client; serves it.
    """

    def __init__(
        self,
        waiting: Waiting,
        scoreboard: Scoreboard,
        limit: int,
        answer: Callable[[ServedSession, Channel, bytes], None],
    ) -> None:
        self._waiting = waiting
        self._scoreboard = scoreboard
        self._limit = limit
        self._answer = answer
        self._open: dict[ServedSession, Channel] = {}

    def open(
        self, session: ServedSession, connection: socket.socket, shared: SharedSlots | None
    ) -> None:
        """Takes a connection, which replaces that which the session has."""
        self.close(session)
        channel = Channel(connection, self._limit, shared)
        self._open[session] = channel
        self._waiting.watch(channel, partial(self._serve, session, channel))
        self._scoreboard.connect(session.slot, True)
        try:
            channel.welcome(self._limit)
        except ChannelError:
            self.close(session)

    def close(self, session: ServedSession) -> None:
        """Ends the channel of a session, if it has one."""
        if channel := self.release(session):
            channel.close()

    def release(self, session: ServedSession) -> Channel | None:
        """Gives up the channel of a session, if it has one; it is the caller's to close, and not waited for."""
        channel = self._open.pop(session, None)
        if channel is not None:
            self._scoreboard.connect(session.slot, False)
            self._waiting.forget(channel)
        return channel

    def abandon(self) -> None:
        """Lets go of all in a copy of the process: they are the original's."""
        for channel in self._open.values():
            channel.close()

    def _serve(self, session: ServedSession, channel: Channel) -> None:
        try:
            for raw in channel.receive():
                if self._open.get(session) is channel:  # nothing is served after a close
                    self._answer(session, channel, raw)
        except ChannelError:
            if self._open.get(session) is channel:
                self.close(session)
