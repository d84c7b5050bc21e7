"""The scoreboard: shared memory in which a session process reports to the front what it is doing.

Direct channels bypass the front, which therefore cannot see when a request arrived or how long it takes. The process
writes that here, once when a request begins and once when it is answered; the front reads it several times a second.
Behind the rows are the marks of the message slots, which share the scoreboard's file.
"""

from __future__ import annotations

import fcntl
import mmap
import os
import time

from envwire.server._ipc.scoreboard_row import ROW_BYTES, Counters, Episode, Row

_COLUMNS = ROW_BYTES // 8
_SERVED, _STEPS = 1, 4
#: Number of slots that can be marked.
MARKS = 8
#: Offset of the message slots in the file, for any number of rows, size of each slot, and length of the file, in bytes.
SLOTS_START, SLOT_BYTES = 1 << 24, 1 << 24
FILE_BYTES = SLOTS_START + 4 * SLOT_BYTES
_SEALS = fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL


class Scoreboard:
    """A row for each session of a process.

    Args:
        descriptor: Memory file of `size(rows)` bytes.
        rows: How many sessions the process may hold.
    """

    def __init__(self, descriptor: int, rows: int) -> None:
        self._memory = mmap.mmap(descriptor, size(rows))
        self._numbers = memoryview(self._memory).cast("Q")
        self._marks = memoryview(self._memory)[-MARKS:]

    def begin(self, row: int) -> None:
        """Records that an environment is being made for a row."""
        self._numbers[row * _COLUMNS] = time.monotonic_ns()

    def row(self, row: int, making: int = 0, describing: int = 0) -> Row:
        """Clears a row for a new session and returns it for writing.

        Args:
            row: Its number.
            making: Nanoseconds that making the environment took.
            describing: Nanoseconds that encoding the answer to the Make took.
        """
        self.clear(row)
        return Row(self._memory, row, making, describing)

    def clear(self, row: int) -> None:
        """Clears a row for another session."""
        first = row * _COLUMNS
        self._numbers[first : first + _COLUMNS] = memoryview(bytes(ROW_BYTES)).cast("Q")

    def busy_for(self, row: int) -> float:
        """Returns how long the current request has been served, in seconds; 0 without one."""
        since = self._numbers[row * _COLUMNS]
        return (time.monotonic_ns() - since) / 1e9 if since else 0.0

    def served(self, row: int) -> int:
        """Returns the number of requests served."""
        return self._numbers[row * _COLUMNS + _SERVED]

    def steps(self, row: int) -> int:
        """Returns the number of steps that the environment took."""
        return self._numbers[row * _COLUMNS + _STEPS]

    def counters(self, row: int) -> Counters:
        """Returns all counters of a row."""
        return Counters.read(self._numbers, row)

    def episodes(self, row: int) -> list[Episode]:
        """Returns the last episodes of a row, the oldest first."""
        return Episode.read(self._numbers, row, self.counters(row).episodes)

    def mark(self, slot: int, marked: bool) -> None:
        """Marks whether a message slot holds a message."""
        self._marks[slot] = marked

    def marked(self, slot: int) -> bool:
        """Returns whether a message slot holds a message."""
        return bool(self._marks[slot])

    def close(self) -> None:
        """Unmaps the memory. A closed scoreboard keeps its counters, and shows no request in progress."""
        kept = memoryview(bytearray(self._numbers))
        self._numbers.release()
        self._marks.release()
        self._memory.close()  # with its copy of the descriptor
        self._numbers, self._marks = kept.cast("Q"), kept[-MARKS:]
        for column in range(0, len(self._numbers), _COLUMNS):  # the last one holds the marks
            self._numbers[column] = 0


def size(rows: int) -> int:
    """Returns the size of a scoreboard in bytes."""
    return rows * ROW_BYTES + MARKS


def make_scoreboard(rows: int) -> tuple[int, Scoreboard]:
    """Creates a scoreboard; returns the descriptor of its memory file, which the caller owns, and the scoreboard.

    The file has its final length from the start, which takes no memory until it is written to, and is sealed: if a
    process could shrink it, the front's next read would kill the front by SIGBUS.
    """
    descriptor = os.memfd_create("envwire-scoreboard", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    os.ftruncate(descriptor, FILE_BYTES)
    fcntl.fcntl(descriptor, fcntl.F_ADD_SEALS, _SEALS)
    return descriptor, Scoreboard(descriptor, rows)
