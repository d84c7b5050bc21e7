"""How both ends of a direct channel on one machine exchange small frames, and how they wait for the next one.

**Mailbox.** A frame on a socket costs its sender and its receiver a system call each, and a spinning receiver one more
for each look: 7 us of a step. In shared memory, both frames of a step cost 1.5 us. A sleeping receiver cannot see
memory change, so it says there that it sleeps, and gets its frame on the socket. The receiver sees the number of a
frame change only after the frame itself, since the processors that have mailboxes make stores visible in their order.

**Spin.** An idle processor goes to sleep, and waking it costs as much as a whole step: its caches are cold, and on a
virtual machine the host is involved. If the last wait was short, the next one probably is too, so it begins by polling.
Between two polls the processor is yielded to other threads. Where others want the processors, polling is in vain, and
takes the time that the peer needs: each time it was, twice as many short waits have to come before the next attempt.
"""

from __future__ import annotations

import mmap
import os
import platform
import struct
import sys
import threading
import time
from collections.abc import Callable
from typing import Final, TypeVar

from envwire.wire.frames import HEADER_BYTES

#: Whether this machine's stores are seen in their order.
ORDERED: Final = sys.platform == "linux" and platform.machine() == "x86_64"
#: Bytes of each of the two boxes, at least: a page.
BOX_BYTES: Final = 4096
#: Bytes of the smallest box that can hold a frame.
LEAST_BOX_BYTES: Final = 64
#: An empty frame: the receiver is to look into its box.
WAKE: Final = bytes(HEADER_BYTES)

#: Where the frame is in a box.
FRAME_AT: Final = 16
_ASLEEP = 1
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
        self._most = box_bytes - FRAME_AT
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

    @property
    def numbers(self) -> tuple[int, int]:
        """The numbers of the frames last taken and put, modulo 256, at which another process can go on."""
        return self._taken, self._put

    def resume(self, taken: int, put: int) -> None:
        """Goes on where another process stopped, whose reader sleeps."""
        self._taken, self._put = taken, put

    @property
    def unread(self) -> bool:
        """Whether the peer sleeps, so that frames have to be sent on the socket."""
        return self._memory[self._theirs + _ASLEEP] != 0

    def put(self, frame: bytes) -> bool:
        """Puts a frame into the peer's box; returns False if it has to be sent on the socket."""
        memory, box = self._memory, self._theirs
        if memory[box + _ASLEEP] or len(frame) > self._most:
            return False
        start = box + FRAME_AT
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
        return self._memory[self._ours] != self._taken

    def take(self) -> bytes:
        """Returns the frame that has come, once; empty if none has.

        Raises:
            ConnectionResetError: The peer wrote something else.
        """
        memory, start = self._memory, self._ours + FRAME_AT
        number = memory[self._ours]
        if number == self._taken:
            return b""
        self._taken = number
        frame = memory[start : start + self._length]
        length = HEADER_BYTES + int(_LENGTH.unpack_from(frame)[0])
        if length != len(frame):
            if not HEADER_BYTES < length <= self._most:
                raise ConnectionResetError(f"not a frame: {length} bytes in a mailbox")
            self._length = length
            frame = memory[start : start + length]
        return frame


_T = TypeVar("_T")

MOMENT: Final = 200e-6
"""Longest spin of a server, in seconds: most clients of cheap environments ask again in less."""

STEP_MOMENT: Final = 400e-6
"""Longest spin of a client. It waits for an environment, and a wait looks long while both ends sleep: with 200 us, a
vector environment whose step took more than 50 us never came to be polled for, and cost 160 us more than locally
instead of 46 to 66."""

DEVICE_MOMENT: Final = 3e-3
"""The same where arrays stay on a GPU, whose steps take a millisecond or two: mostly the time of processors that begin
the GPU's work, which one that has just slept does more slowly."""

#: Short waits that a long one outweighs.
_OUTWEIGHED: Final = 16
#: Most short waits that have to come before polling is tried again: 5 ms or so, in which processors may become free.
_MOST_SHORT: Final = 128

#: Yields the processor, so that spinning waiters do not keep the threads from running that they wait for.
_give_way: Callable[[], object] = getattr(os, "sched_yield", bool)


def _processors() -> int:
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # only Linux reports a process's own processors
        return os.cpu_count() or 1


class AdaptiveSpin:
    """The waits of one end: each begins with a short spin if that is worthwhile, otherwise it sleeps at once.

    It is after short waits: after one, or after more when the last spins were all in vain. One in vain among others
    counts for nothing: steps of 200 us, half of which polling served, took 1.36 times as long when it did. A long wait
    weighs as much as many short ones, so that a busy machine delays the next try and does not prevent it.

    Args:
        clock: Monotonic time, in seconds.
        alone: Whether there is only one processor, which the peer needs; by default detected.

    Attributes:
        short: Whether the next wait begins by polling, because the last ones were short.
        begun: When the current wait began, by the clock.
        moment: Longest spin, in seconds.
    """

    __slots__ = ("_alone", "_clock", "_needed", "_waits", "begun", "moment", "short")

    def __init__(
        self, clock: Callable[[], float] = time.perf_counter, alone: bool | None = None
    ) -> None:
        self._clock = clock
        self._alone = _processors() == 1 if alone is None else alone
        #: Waits of one kind so far: those that began by polling, or short ones that did not.
        self._waits = 0
        #: Short waits after which to poll.
        self._needed = 1
        self.begun = 0.0
        self.short = False
        self.moment = MOMENT

    def poll(self, poll: Callable[[int], _T]) -> _T | None:
        """Begins a wait: polls for a moment if the last ones were short, and returns what is ready, None for nothing.

        Args:
            poll: Called with 0; returns what is ready, without waiting.
        """
        self.begun = self._clock()
        self._waits += 1
        while self.short:
            if ready := poll(0):
                return ready
            if not self.goes_on():
                break
        return None

    def begin(self) -> bool:
        """Begins a wait; returns whether to poll for as long as `goes_on` returns True."""
        self.begun = self._clock()
        self._waits += 1
        return self.short

    def goes_on(self) -> bool:
        """Yields the processor; returns whether to poll once more."""
        _give_way()
        return self._clock() - self.begun < self.moment

    def woke(self) -> None:
        """Ends a wait for which `poll` returned nothing. Others need no call: they were short, as the one before."""
        if self.short:  # it polled in vain
            served = self._waits > 1
            self._needed = 1 if served else min(2 * self._needed, _MOST_SHORT)
            self.short, self._waits = False, 0
        elif self._clock() - self.begun >= self.moment:
            # Not back to 0, which would end the tries on a busy machine.
            self._waits = max(0, self._waits - _OUTWEIGHED)
        elif self._waits >= self._needed and not self._alone:
            self.short, self._waits = True, 0
