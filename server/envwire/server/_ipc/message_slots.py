"""A shelf: memory in which one end of a link lays a large message for the other, instead of sending it.

A socket takes a message of megabytes in many pieces, and both ends wake for each; here it is written in one call and
read in one. It is a file in memory and never mapped: where a peer gone mad made it shorter, reading gives too few bytes
and not a signal. Its pages stay for the next message, so it takes as much as the largest one.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

from envwire.server._ipc.gathering import Buffer
from envwire.server._ipc.scoreboard import Board

#: Smaller messages cost less on the socket.
SHELVED_FROM = 1 << 17
#: Larger ones are too rare to keep memory for.
SHELVED_TO = 1 << 24
#: Where the first place is: behind the board, whose file it shares.
_FIRST = 1 << 20
#: What the front lays down for its process, and what the process lays down for the front.
REQUESTS, REPLIES = range(2), range(2, 4)


class ShelfError(Exception):
    """There is no message where one was announced."""


class Shelf:
    """One end of a shelf.

    Args:
        descriptor: The board's file; the shelf owns it.
        board: Where the places are marked that hold a message.
        own: The places that this end fills; the other end's are those that it empties.
    """

    def __init__(self, descriptor: int, board: Board, own: range) -> None:
        self._descriptor = descriptor
        self._board = board
        self._own = own

    def put(self, buffers: Sequence[Buffer], length: int) -> int:
        """Lays a message down and returns its place, from 1; 0 when it is to be sent instead.

        Args:
            buffers: The message in pieces.
            length: Their bytes in all.
        """
        if not SHELVED_FROM <= length <= SHELVED_TO:
            return 0
        for place in self._own:
            if not self._board.marked(place):
                return self._write(place, buffers, length)
        return 0

    def _write(self, place: int, buffers: Sequence[Buffer], length: int) -> int:
        try:
            written = os.pwritev(self._descriptor, buffers, _start(place))
        except OSError:  # no memory for it, or more pieces than one call takes
            return 0
        if written != length:
            return 0
        self._board.mark(place, True)
        return place + 1

    def take(self, where: int, length: int) -> bytes:
        """Takes a message away.

        Args:
            where: What the other end's `put` returned.
            length: Its bytes.

        Raises:
            ShelfError: It is not there.
        """
        place = where - 1
        if place in self._own or not 0 <= place < REPLIES.stop or length > SHELVED_TO:
            raise ShelfError(f"no message of {length} bytes can be at place {where}")
        try:
            message = os.pread(self._descriptor, length, _start(place))
        except OSError as error:
            raise ShelfError(str(error)) from error
        if len(message) != length:
            raise ShelfError(f"{len(message)} of {length} bytes are at place {where}")
        self._board.mark(place, False)
        return message

    def close(self) -> None:
        """Gives the memory back on this side. Closing twice is harmless."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
        self._descriptor = -1


def _start(place: int) -> int:
    return _FIRST + place * SHELVED_TO
