"""The scoreboard: shared memory in which a session process tells the front what it is doing.

The front is not in the way of a direct channel, so it cannot see when a request came or how long it takes. The process
writes that here, a few numbers a request; the front looks a few times a second. Behind the rows are the marks of the
message slots, which share the scoreboard's file.
"""

from __future__ import annotations

import fcntl
import mmap
import os
import time

_ROW = 5
_BUSY, _SERVED, _SERVING, _STEPPING, _STEPS = range(_ROW)
_NUMBER_BYTES = 8
#: Slots that can be marked.
MARKS = 8
#: Where the message slots begin in the file, whatever the number of rows; how large each is; and the file's length.
SLOTS_START, SLOT_BYTES = 1 << 20, 1 << 24
FILE_BYTES = SLOTS_START + 4 * SLOT_BYTES
_SEALS = fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL


class Scoreboard:
    """One row for each session of a process.

    Args:
        descriptor: A file of memory of `size(rows)` bytes.
        rows: How many sessions the process may hold.
    """

    def __init__(self, descriptor: int, rows: int) -> None:
        self._memory = mmap.mmap(descriptor, size(rows))
        self._numbers = memoryview(self._memory).cast("Q")
        self._marks = memoryview(self._memory)[-MARKS:]

    def begin(self, row: int) -> None:
        """Records that a request is being served."""
        self._numbers[row * _ROW + _BUSY] = time.monotonic_ns()

    def end(self, row: int, stepping: int, steps: int) -> None:
        """Records that the request was served.

        Args:
            row: The session's row.
            stepping: Nanoseconds that the environment's steps took so far.
            steps: Steps that it took so far.
        """
        numbers, first = self._numbers, row * _ROW
        numbers[first + _SERVING] += time.monotonic_ns() - numbers[first + _BUSY]
        numbers[first + _STEPPING] = stepping
        numbers[first + _STEPS] = steps
        numbers[first + _BUSY] = 0
        numbers[first + _SERVED] += 1

    def clear(self, row: int) -> None:
        """Makes a row ready for another session."""
        for column in range(_ROW):
            self._numbers[row * _ROW + column] = 0

    def busy_for(self, row: int) -> float:
        """Returns for how many seconds the present request has been served; 0 when there is none."""
        since = self._numbers[row * _ROW + _BUSY]
        return (time.monotonic_ns() - since) / 1e9 if since else 0.0

    def served(self, row: int) -> int:
        """Returns how many requests were served."""
        return self._numbers[row * _ROW + _SERVED]

    def times(self, row: int) -> tuple[int, int]:
        """Returns the nanoseconds spent on requests, and those of them that the environment's steps took."""
        first = row * _ROW
        return self._numbers[first + _SERVING], self._numbers[first + _STEPPING]

    def steps(self, row: int) -> int:
        """Returns how many steps the environment took."""
        return self._numbers[row * _ROW + _STEPS]

    def mark(self, slot: int, marked: bool) -> None:
        """Notes whether something lies at a slot in the message slots."""
        self._marks[slot] = marked

    def marked(self, slot: int) -> bool:
        """Returns whether something lies at a slot in the message slots."""
        return bool(self._marks[slot])

    def close(self) -> None:
        """Unmaps the memory. A closed scoreboard shows what was served, and that nothing is being served."""
        kept = memoryview(bytearray(self._numbers))
        self._numbers.release()
        self._marks.release()
        self._memory.close()  # and the descriptor that it keeps
        self._numbers, self._marks = kept.cast("Q"), kept[-MARKS:]
        for column in range(_BUSY, len(self._numbers), _ROW):  # the last one holds the marks
            self._numbers[column] = 0


def size(rows: int) -> int:
    """Returns the bytes of a scoreboard."""
    return rows * _ROW * _NUMBER_BYTES + MARKS


def make_scoreboard(rows: int) -> tuple[int, Scoreboard]:
    """Returns the descriptor of new memory, which belongs to the caller, and the scoreboard in it.

    The file is as long as it will ever be, which takes no memory before it is written to, and sealed: where a process
    made it shorter, the front's next look at its page would be the front's end, by SIGBUS.
    """
    descriptor = os.memfd_create("envwire-scoreboard", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    os.ftruncate(descriptor, FILE_BYTES)
    fcntl.fcntl(descriptor, fcntl.F_ADD_SEALS, _SEALS)
    return descriptor, Scoreboard(descriptor, rows)
