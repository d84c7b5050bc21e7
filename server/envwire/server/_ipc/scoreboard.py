"""The scoreboard: shared memory in which a session process reports to the front what it is doing.

Direct channels bypass the front, which therefore cannot see when a request arrived or how long it takes. The process
writes that here, once when a request begins and once when it is answered; the front reads it several times a second.
Behind the rows are the marks of the message slots, which share the scoreboard's file.
"""

from __future__ import annotations

import fcntl
import math
import mmap
import os
import struct
import time
from collections.abc import Sequence
from typing import NamedTuple

from envwire.codec import Reason

#: Number of recent episodes that a row holds.
EPISODES = 16
#: Counters that change with each request, written at once; in native layout, so that each number is written whole.
_REQUESTS = struct.Struct("8Q")
#: Counters that change with episodes, repeats, replays and channels, and the durations of the Make.
_EVENTS = struct.Struct("2Qd9Q")
_EPISODE = struct.Struct("dQQ")
_BUSY = struct.Struct("Q")
#: Reasons, numbered from 1; 0 stands for none or an unknown one.
_REASONS = [reason.value for reason in Reason]
_LOSSES = {reason: number for number, reason in enumerate(_REASONS, 1)}
_EVENTS_START = _REQUESTS.size
_EPISODES_START = _EVENTS_START + _EVENTS.size
ROW_BYTES = _EPISODES_START + EPISODES * _EPISODE.size


class Episode(NamedTuple):
    """A finished episode.

    Attributes:
        total: Sum of its rewards.
        length: Number of its steps.
        ended: When it ended, in nanoseconds of the machine's monotonic clock.
    """

    total: float
    length: int
    ended: int

    @classmethod
    def read(cls, memory: memoryview, row: int, count: int) -> list[Episode]:
        """Returns the last episodes of a row, of `count` in all, the oldest first."""
        start = row * ROW_BYTES + _EPISODES_START
        return [
            cls(*_EPISODE.unpack_from(memory, start + each % EPISODES * _EPISODE.size))
            for each in range(max(0, count - EPISODES), count)
        ]


class Counters(NamedTuple):
    """A snapshot of a session's counters. Times are in nanoseconds.

    Attributes:
        busy_since: When the current request began; 0 without one.
        requests: Number of requests served.
        serving: Time spent serving them.
        stepping: Part of `serving` spent in the environment's steps.
        steps: Number of steps that the environment took.
        replying: Part of `serving` spent handing replies to the system.
        received: Bytes of requests on direct channels.
        sent: Bytes of the replies to them.
        episodes: Number of finished episodes.
        lengths: Sum of their steps.
        returns: Sum of their returns.
        repeated: Number of repeated requests, which were answered with the kept reply.
        repeated_at: When the last of them arrived, by the machine's monotonic clock.
        replayed: Number of recorded requests that were served to recover a lost session.
        replayed_at: When the last of them was served.
        epoch: How many sessions of its client's environment were lost before this one.
        loss: Why the last of them was lost, as a number (see `loss_reason`).
        device: Bytes of a device's memory that the session shares with its client.
        making: Time that making the environment took.
        describing: Time that encoding the answer to the Make took.
    """

    busy_since: int
    requests: int
    serving: int
    stepping: int
    steps: int
    replying: int
    received: int
    sent: int
    episodes: int
    lengths: int
    returns: float
    repeated: int
    repeated_at: int
    replayed: int
    replayed_at: int
    epoch: int
    loss: int
    device: int
    making: int
    describing: int

    @classmethod
    def read(cls, memory: memoryview, row: int) -> Counters:
        """Returns all counters of a row. If the process writes meanwhile, they may mix those of two requests."""
        start = row * ROW_BYTES
        requests = _REQUESTS.unpack_from(memory, start)
        return cls(*requests, *_EVENTS.unpack_from(memory, start + _EVENTS_START))


def loss_reason(number: int) -> str:
    """Returns a reason by its number; UNKNOWN for any other, since the lost server gave none."""
    return _REASONS[number - 1] if 0 < number <= len(_REASONS) else "UNKNOWN"


class Row:
    """A row of the scoreboard, for the process that serves the session and is its only writer.

    Args:
        memory: The scoreboard's memory.
        row: Its number.
        making: Nanoseconds that making the environment took.
        describing: Nanoseconds that encoding the answer to the Make took.

    Attributes:
        received: Bytes of requests on direct channels.
        sent: Bytes of the replies to them.
    """

    __slots__ = (
        *("_began", "_memory", "_replying", "_served", "_serving", "_start"),
        *("_counts", "_returns", "_repeated", "_recovery", "_device", "_made"),
        *("received", "sent"),
    )

    def __init__(self, memory: mmap.mmap, row: int, making: int, describing: int) -> None:
        self._memory = memory
        self._start = row * ROW_BYTES
        self._began = self._served = self._serving = self._replying = 0
        self.received = self.sent = 0
        self._counts, self._returns, self._repeated = (0, 0), 0.0, (0, 0)
        self._recovery, self._device, self._made = (0, 0, 0, 0), 0, (making, describing)
        self._write_events()

    def begin(self) -> None:
        """Records that a request is being served."""
        began = self._began = time.monotonic_ns()
        _BUSY.pack_into(self._memory, self._start, began)

    def end(self, stepping: int, steps: int, replied: int) -> None:
        """Records that the request was served. Writing all counters at once costs no more than writing one or two.

        Args:
            stepping: Nanoseconds spent in the environment's steps so far.
            steps: Number of steps so far.
            replied: When the reply was ready, by the machine's monotonic clock, in nanoseconds.
        """
        now = time.monotonic_ns()
        served = self._served = self._served + 1
        serving = self._serving = self._serving + now - self._began
        replying = self._replying = self._replying + now - replied
        # fmt: off
        _REQUESTS.pack_into(
            self._memory, self._start,
            0, served, serving, stepping, steps, replying, self.received, self.sent,
        )
        # fmt: on

    def add_served(
        self, begun: int, requests: int, serving: int, stepping: int, steps: int
    ) -> None:
        """Records requests that another process served.

        Args:
            begun: When the one that it is serving began, by the machine's monotonic clock; 0 for none.
            requests: How many it served since the last call.
            serving: Nanoseconds for them.
            stepping: Nanoseconds spent in the environment's steps so far.
            steps: Number of steps so far.
        """
        served = self._served = self._served + requests
        self._serving += serving
        # fmt: off
        _REQUESTS.pack_into(
            self._memory, self._start,
            begun, served, self._serving, stepping, steps, self._replying, self.received, self.sent,
        )
        # fmt: on

    def add_episodes(self, ended: Sequence[tuple[float, int]]) -> None:
        """Records finished episodes.

        Args:
            ended: Sum of rewards and number of steps of each; non-finite sums are left out of the total.
        """
        count, lengths = self._counts
        start, now = self._start + _EPISODES_START, time.monotonic_ns()
        for number, (total, length) in enumerate(ended, count):
            where = start + number % EPISODES * _EPISODE.size
            _EPISODE.pack_into(self._memory, where, total, length, now)
            self._returns += total if math.isfinite(total) else 0.0
            lengths += length
        self._counts = count + len(ended), lengths
        self._write_events()

    def add_repeat(self) -> None:
        """Records a repeated request, which was answered with the kept reply."""
        self._repeated = self._repeated[0] + 1, time.monotonic_ns()
        self._write_events()

    def add_replay(self, served: int, epoch: int, loss: str) -> None:
        """Records the replay of a lost session's requests.

        Args:
            served: Number of requests that were served.
            epoch: How many sessions were lost before this one.
            loss: Why the last of them was lost.
        """
        replayed = self._recovery[0] + served
        self._recovery = replayed, time.monotonic_ns(), epoch, _LOSSES.get(loss, 0)
        self._write_events()

    def set_device(self, size: int) -> None:
        """Records how many bytes of a device's memory are shared with the client."""
        self._device = size
        self._write_events()

    def _write_events(self) -> None:
        _EVENTS.pack_into(
            self._memory,
            self._start + _EVENTS_START,
            *self._counts,
            self._returns,
            *self._repeated,
            *self._recovery,
            self._device,
            *self._made,
        )


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
