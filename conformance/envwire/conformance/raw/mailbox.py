"""The client's end of a mailbox, written from docs/protocol.md: two boxes in memory that the server shares."""

from __future__ import annotations

import fcntl
import mmap
import os
import threading

#: Linux's F_GET_SEALS, and F_SEAL_SHRINK | F_SEAL_GROW.
_GET_SEALS, _SIZE_SEALS = 1034, 0x2 | 0x4
#: Where a box has the number of its frames, whether its reader sleeps, and its frame.
_NUMBER, _SLEEPS, FRAME_AT = 0, 1, 16
_LENGTH_BYTES, _HEADER_BYTES = 4, 16
#: To take and release a lock is a full memory barrier on the processors that have mailboxes.
_BARRIER = threading.Lock()


def resizable(descriptor: int) -> bool:
    """Returns whether memory can grow or shrink."""
    try:
        return fcntl.fcntl(descriptor, _GET_SEALS) & _SIZE_SEALS != _SIZE_SEALS
    except OSError:  # memory of a kind that cannot be sealed
        return True


class Mailbox:
    """A mailbox.

    Args:
        descriptor: Descriptor of the memory, which this closes.
        box_bytes: Bytes of each of the two boxes.

    Attributes:
        box_bytes: The same.
        resizable: Whether the memory can grow or shrink.
        taken: How many frames were taken out of the box of answers, modulo 256.

    Raises:
        OSError: The memory cannot be mapped.
        ValueError: It is smaller than two boxes.
    """

    def __init__(self, descriptor: int, box_bytes: int) -> None:
        self.box_bytes = box_bytes
        self.taken = 0
        self._put = 0
        try:
            self.resizable = resizable(descriptor)
            self._memory = mmap.mmap(descriptor, 2 * box_bytes)
        finally:
            os.close(descriptor)

    @property
    def longest(self) -> int:
        """Bytes of the longest frame that fits into a box."""
        return self.box_bytes - FRAME_AT

    @property
    def numbers(self) -> tuple[int, int]:
        """How many requests and answers were put into the boxes, modulo 256."""
        return self._memory[_NUMBER], self._memory[self.box_bytes + _NUMBER]

    @property
    def sleepers(self) -> tuple[int, int]:
        """The bytes that say whether the server and the client sleep."""
        return self._memory[_SLEEPS], self._memory[self.box_bytes + _SLEEPS]

    def look_out(self) -> None:
        """Lets answers come into the box from now on."""
        self._memory[self.box_bytes + _SLEEPS] = 0

    def sleep(self) -> None:
        """Has answers come on the socket from now on, but for one that is in the box by the time this returns."""
        self._memory[self.box_bytes + _SLEEPS] = 1
        _barrier()

    def put(self, frame: bytes) -> bool:
        """Puts a frame into the box of requests, and returns whether the server has to be woken."""
        self._memory[FRAME_AT : FRAME_AT + len(frame)] = frame
        self._put = (self._put + 1) % 256
        self._memory[_NUMBER] = self._put
        _barrier()
        return self._memory[_SLEEPS] == 1

    def take(self) -> bytes | None:
        """Takes the answer out of its box; None if there is no new one. One that is too long is cut off."""
        number = self._memory[self.box_bytes + _NUMBER]
        if number == self.taken:
            return None
        self.taken = number
        start = self.box_bytes + FRAME_AT
        length = int.from_bytes(self._memory[start : start + _LENGTH_BYTES], "little")
        return self._memory[start : start + _HEADER_BYTES + length]

    def write(self, offset: int, data: bytes) -> None:
        """Writes bytes anywhere into the memory."""
        self._memory[offset : offset + len(data)] = data

    def close(self) -> None:
        """Unmaps the memory."""
        self._memory.close()


def _barrier() -> None:
    with _BARRIER:
        pass
