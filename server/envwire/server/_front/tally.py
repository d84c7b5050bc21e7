"""Counters of a server or a gateway since its start, for metrics. A step only adds the bytes that gRPC carried."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass

from envwire.codec import FaultError

#: Upper bounds of the histogram of Make durations, in seconds: from packed environments to simulators that load maps.
MAKE_BOUNDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0)
#: Outcomes of a Make other than the reasons of errors.
MADE, CANCELLED = "MADE", "CANCELLED"


@dataclass
class MakeCount:
    """A Make that is being counted.

    Attributes:
        outcome: `MADE`, or why there is no session.
    """

    outcome: str = CANCELLED


class Tally:
    """Counters of a server or a gateway since its start.

    Args:
        clock: Monotonic time, in seconds.

    Attributes:
        makes: Number of Makes by outcome.
        make_buckets: Number of Makes by duration, including time in the queue; the last bucket has no upper bound.
        make_seconds: Total of the durations.
        ends: Number of ended sessions, by the reason that their clients get.
        received: Bytes of requests over gRPC, without direct channels.
        sent: Bytes of their answers.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self.makes: Counter[str] = Counter()
        self.make_buckets = [0] * (len(MAKE_BOUNDS) + 1)
        self.make_seconds = 0.0
        self.ends: Counter[str] = Counter()
        self.received = self.sent = 0

    @contextmanager
    def making(self) -> Generator[MakeCount]:
        """Counts the Make inside the `with` block, which sets its outcome; an error's reason is the outcome."""
        count, begun = MakeCount(), self._clock()
        try:
            yield count
        except FaultError as fault:
            count.outcome = fault.reason.value
            raise
        finally:
            self.makes[count.outcome] += 1
            seconds = self._clock() - begun
            self.make_buckets[bisect_left(MAKE_BOUNDS, seconds)] += 1
            self.make_seconds += seconds
