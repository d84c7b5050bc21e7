"""A row of the scoreboard: the counters of one session, written by its process."""

from __future__ import annotations

import math
import mmap
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
