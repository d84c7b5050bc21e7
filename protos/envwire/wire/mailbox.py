"""A mailbox of a direct channel: client and server exchange small frames in shared memory while neither of them sleeps.

A frame on a socket costs its sender and its receiver a system call each, and a spinning receiver one more for each
look: 7 us of a step. In memory, both frames of a step cost 1.5 us. A sleeping receiver cannot see memory change, so it
says there that it sleeps, and gets its frame on the socket.

The receiver sees the number of a frame change only after the frame itself, since the processors that have mailboxes
make stores visible in their order.
"""

from __future__ import annotations

import mmap
import platform
import struct
import sys
import threading
from collections.abc import Callable
from typing import Final

from envwire.wire.frames import HEADER_BYTES

#: Whether this machine's stores are seen in their order.
ORDERED: Final = sys.platform == "linux" and platform.machine() == "x86_64"
#: Bytes of each of the two boxes: a page.
BOX_BYTES: Final = 4096
#: Bytes of the smallest box that can hold a frame.
LEAST_BOX_BYTES: Final = 64
#: An empty frame: the receiver is to look into its box.
WAKE: Final = bytes(HEADER_BYTES)

_ASLEEP = 1
_FRAME = 16
_LENGTH = struct.Struct("<I")


class Mailbox:
    """One end of a mailbox.

    Args:
        memory: The two boxes.
        box_bytes: Bytes of each.
        wake: Sends `WAKE` on the socket; called when the peer fell asleep while a frame was put into its box.
        server: Whether this is the server's end.

    Attributes:
        asleep: Whether the peer sends its frames on the socket.
    """

    def __init__(
        self, memory: mmap.mmap, box_bytes: int, wake: Callable[[bytes], object], *, server: bool
    ) -> None:
        self._memory = memory
        self._most = box_bytes - _FRAME
        self._wake = wake
        self._ours, self._theirs = (0, box_bytes) if server else (box_bytes, 0)
        self._put = self._taken = 0
        self.asleep = True
        #: Taking a lock is a full memory barrier, and costs 40 ns. It is never shared: a fork could leave it taken.
        self._barrier = threading.Lock()
        #: Length of the last frame, which the next one probably has too.
        self._length = HEADER_BYTES + 1

    @staticmethod
    def prepare(memory: mmap.mmap, box_bytes: int) -> None:
        """Notes in new memory that both readers sleep."""
        memory[_ASLEEP] = memory[box_bytes + _ASLEEP] = 1

    def put(self, frame: bytes) -> bool:
        """Puts a frame into the peer's box; returns False if it has to be sent on the socket."""
        memory, box = self._memory, self._theirs
        if memory[box + _ASLEEP] or len(frame) > self._most:
            return False
        start = box + _FRAME
        memory[start : start + len(frame)] = frame
        memory[box] = self._put = self._put + 1 & 255
        with self._barrier:  # the number is visible before it is read whether the peer sleeps
            pass
        if memory[box + _ASLEEP]:
            self._wake(WAKE)
        return True

    def look(self) -> bool:
        """Returns whether a frame has come. From now on the peer puts its frames into the box, until `sleep`."""
        if self.asleep:
            self.asleep = False
            self._memory[self._ours + _ASLEEP] = 0
        return self._memory[self._ours] != self._taken

    def sleep(self) -> bool:
        """Has the peer send its frames on the socket from now on; returns whether one has come before."""
        if not self.asleep:
            self.asleep = True
            self._memory[self._ours + _ASLEEP] = 1
            with self._barrier:  # visible before the last look
                pass
        return self.arrived()

    def arrived(self) -> bool:
        """Returns whether a frame has come."""
        return self._memory[self._ours] != self._taken

    def take(self) -> bytes:
        """Returns the frame that has come.

        Raises:
            ConnectionResetError: The peer wrote something else.
        """
        memory, start = self._memory, self._ours + _FRAME
        self._taken = memory[self._ours]
        frame = memory[start : start + self._length]
        length = HEADER_BYTES + int(_LENGTH.unpack_from(frame)[0])
        if length != len(frame):
            if not HEADER_BYTES < length <= self._most:
                raise ConnectionResetError(f"not a frame: {length} bytes in a mailbox")
            self._length = length
            frame = memory[start : start + length]
        return frame
