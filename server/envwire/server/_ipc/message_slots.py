"""How messages that are too large for one small write are sent: several buffers at once, or through shared memory.

A socket transfers megabytes in many pieces, and both ends wake up for each; a slot is written and read in one call.
The slots are a memory file, sealed at its full length so that the other end cannot shrink it. Pages are kept for the
next message: a slot takes as much memory as the largest message that it has held.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Sequence

from envwire.server._ipc.scoreboard import SLOT_BYTES, SLOTS_START, Scoreboard

_MAX_BUFFERS = 512
#: Below this size in bytes, joining buffers costs less than passing the kernel a list.
JOINED_BELOW = 16384

Buffer = bytes | memoryview


def send_some(sock: socket.socket, buffers: Sequence[Buffer]) -> list[Buffer]:
    """Sends as much of the buffers as the socket takes, all of them if it blocks, and returns the rest.

    Raises:
        OSError: The connection is gone.
    """
    length = sum(map(len, buffers))
    left: list[Buffer] = [*buffers] if length >= JOINED_BELOW else [b"".join(buffers)]
    try:
        while left:
            sent = sock.sendmsg(left[:_MAX_BUFFERS])
            if sent == length:  # almost always
                return []
            left = _behind(left, sent)
    except BlockingIOError:
        pass
    return left


def _behind(buffers: list[Buffer], sent: int) -> list[Buffer]:
    """Returns the buffers without their first `sent` bytes."""
    for number, buffer in enumerate(buffers):
        if sent < len(buffer):
            return [memoryview(buffer)[sent:], *buffers[number + 1 :]]
        sent -= len(buffer)
    return []


#: Smaller messages are faster on the socket.
MIN_SLOT_BYTES = 1 << 17
#: Larger messages are too rare to keep memory for.
MAX_SLOT_BYTES = SLOT_BYTES
#: The slots that the front writes for its process, and those that the process writes for the front.
REQUESTS, REPLIES = range(2), range(2, 4)


class MessageSlotsError(Exception):
    """A frame names a slot that holds no message."""


class MessageSlots:
    """One end's view of the slots.

    Args:
        descriptor: File descriptor of the scoreboard; owned by this object.
        scoreboard: Marks the slots that hold a message.
        own: The slots that this end writes; it reads the others.
    """

    def __init__(self, descriptor: int, scoreboard: Scoreboard, own: range) -> None:
        self._descriptor = descriptor
        self._scoreboard = scoreboard
        self._own = own

    def put(self, buffers: Sequence[Buffer], length: int) -> int:
        """Writes a message and returns its slot, from 1; 0 if it must be sent on the socket instead.

        Args:
            buffers: The message, in pieces.
            length: Their total length in bytes.
        """
        if not MIN_SLOT_BYTES <= length <= MAX_SLOT_BYTES:
            return 0
        for slot in self._own:
            if not self._scoreboard.marked(slot):
                return self._write(slot, buffers, length)
        return 0

    def _write(self, slot: int, buffers: Sequence[Buffer], length: int) -> int:
        try:
            written = os.pwritev(self._descriptor, buffers, _start(slot))
        except OSError:  # out of memory, or more pieces than one call takes
            return 0
        if written != length:
            return 0
        self._scoreboard.mark(slot, True)
        return slot + 1

    def take(self, slot: int, length: int) -> bytes:
        """Reads a message and frees its slot.

        Args:
            slot: Its slot, as returned by the other end's `put`.
            length: Its length in bytes.

        Raises:
            MessageSlotsError: The slot holds no such message.
        """
        index = slot - 1
        if index in self._own or not 0 <= index < REPLIES.stop or length > MAX_SLOT_BYTES:
            raise MessageSlotsError(f"no message of {length} bytes can be at slot {slot}")
        message = os.pread(self._descriptor, length, _start(index))
        self._scoreboard.mark(index, False)
        return message

    def close(self) -> None:
        """Unmaps the memory in this process. Closing twice is harmless."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
        self._descriptor = -1


def _start(slot: int) -> int:
    return SLOTS_START + slot * SLOT_BYTES
