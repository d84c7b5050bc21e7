"""The direct channels of a session process: at most one for each session, the last that was opened."""

from __future__ import annotations

import socket
from collections.abc import Callable
from functools import partial

from envwire.server._ipc.scoreboard import Board
from envwire.server._worker.direct_channel import Channel, ChannelError
from envwire.server._worker.poller import Waiting
from envwire.server._worker.shared_memory import SharedSlots


class Channels:
    """The channels by the places of their sessions.

    Args:
        waiting: Takes them among what is waited for.
        board: Where the front looks which are open.
        limit: Largest request, in bytes.
        answer: Called with place, channel and request; serves it.
    """

    def __init__(
        self,
        waiting: Waiting,
        board: Board,
        limit: int,
        answer: Callable[[int, Channel, bytes], None],
    ) -> None:
        self._waiting = waiting
        self._board = board
        self._limit = limit
        self._answer = answer
        self._open: dict[int, Channel] = {}

    def open(self, place: int, connection: socket.socket, shared: SharedSlots | None) -> None:
        """Takes a connection, which replaces that which the session has."""
        self.close(place)
        channel = Channel(connection, self._limit, shared)
        self._open[place] = channel
        self._waiting.watch(channel, partial(self._serve, place, channel))
        self._board.connect(place, True)
        try:
            channel.welcome(self._limit)
        except ChannelError:
            self.close(place)

    def close(self, place: int) -> None:
        """Ends the channel of a session, if it has one."""
        if channel := self._open.pop(place, None):
            self._board.connect(place, False)
            self._waiting.forget(channel)
            channel.close()

    def abandon(self) -> None:
        """Lets go of all in a copy of the process: they are the original's."""
        for channel in self._open.values():
            channel.close()

    def _serve(self, place: int, channel: Channel) -> None:
        try:
            for raw in channel.receive():
                if self._open.get(place) is channel:  # nothing is served after a close
                    self._answer(place, channel, raw)
        except ChannelError:
            if self._open.get(place) is channel:
                self.close(place)
