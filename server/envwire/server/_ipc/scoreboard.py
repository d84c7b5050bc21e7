"""The scoreboard: shared memory in which a session process tells the front what it is doing.

The front is not in the way of a direct channel, so it cannot see when a request came or how long it takes. The process
writes that here, once when a request begins and once when it was answered; the front looks a few times a second. Behind
the rows are the marks of the message slots, which share the scoreboard's file.
"""

from __future__ import annotations

import fcntl
import mmap
import os
import time

from envwire.server._ipc.scoreboard_row import (
    ROW_BYTES,
    Counters,
    Episode,
    Row,
    read_counters,
    read_episodes,
)

__all__ = ["Counters", "Episode", "Row", "Scoreboard", "make_scoreboard", "size"]

_COLUMNS = ROW_BYTES // 8
_SERVED, _STEPS = 1, 4
#: Slots that can be marked.
MARKS = 8
#: Where the message slots begin in the file, whatever the number of rows; how large each is; and the file's length.
SLOTS_START, SLOT_BYTES = 1 << 24, 1 << 24
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
        """Records that an environment is being made for a row."""
        self._numbers[row * _COLUMNS] = time.monotonic_ns()

    def row(self, row: int, making: int = 0, describing: int = 0) -> Row:
        """Returns a row for a new session to write in, cleared.

        Args:
            row: Its number.
            making: Nanoseconds in which the environment was made.
            describing: Nanoseconds in which the answer to the Make was written.
        """
        self.clear(row)
        return Row(self._memory, row, making, describing)

    def clear(self, row: int) -> None:
        """Makes a row ready for another session."""
        first = row * _COLUMNS
        self._numbers[first : first + _COLUMNS] = memoryview(bytes(ROW_BYTES)).cast("Q")

    def busy_for(self, row: int) -> float:
        """Returns for how many seconds the present request has been served; 0 when there is none."""
        since = self._numbers[row * _COLUMNS]
        return (time.monotonic_ns() - since) / 1e9 if since else 0.0

    def served(self, row: int) -> int:
        """Returns how many requests were served."""
        return self._numbers[row * _COLUMNS + _SERVED]

    def steps(self, row: int) -> int:
        """Returns how many steps the environment took."""
        return self._numbers[row * _COLUMNS + _STEPS]

    def counters(self, row: int) -> Counters:
        """Returns all counters of a row."""
        return read_counters(self._numbers, row)

    def episodes(self, row: int) -> list[Episode]:
        """Returns the last episodes of a row, the oldest first."""
        return read_episodes(self._numbers, row)

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
        for column in range(0, len(self._numbers), _COLUMNS):  # the last one holds the marks
            self._numbers[column] = 0


def size(rows: int) -> int:
    """Returns the bytes of a scoreboard."""
    return rows * ROW_BYTES + MARKS


def make_scoreboard(rows: int) -> tuple[int, Scoreboard]:
    """Returns the descriptor of new memory, which belongs to the caller, and the scoreboard in it.

    The file is as long as it will ever be, which takes no memory before it is written to, and sealed: where a process
    made it shorter, the front's next look at its page would be the front's end, by SIGBUS.
    """
    descriptor = os.memfd_create("envwire-scoreboard", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    os.ftruncate(descriptor, FILE_BYTES)
    fcntl.fcntl(descriptor, fcntl.F_ADD_SEALS, _SEALS)
    return descriptor, Scoreboard(descriptor, rows)
