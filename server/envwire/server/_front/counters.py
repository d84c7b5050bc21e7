"""Counters that servers and gateways keep since their start, and the Prometheus metrics that both make of them."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import accumulate
from typing import TypeVar

from prometheus_client import core

from envwire.codec import FaultError
from envwire.wire.version import VERSION

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


_Labelled = TypeVar("_Labelled", core.GaugeMetricFamily, core.CounterMetricFamily)


def gauge(name: str, text: str, value: float) -> core.GaugeMetricFamily:
    """Returns a gauge without labels."""
    return core.GaugeMetricFamily(f"envwire_{name}", text, value)


def gauges(name: str, text: str, label: str, values: Mapping[str, float]) -> core.GaugeMetricFamily:
    """Returns a gauge with one label."""
    return _filled(core.GaugeMetricFamily(f"envwire_{name}", text, labels=[label]), values)


def counter(name: str, text: str, value: float) -> core.CounterMetricFamily:
    """Returns a counter without labels."""
    return core.CounterMetricFamily(f"envwire_{name}", text, value)


def counters(
    name: str, text: str, label: str, values: Mapping[str, float]
) -> core.CounterMetricFamily:
    """Returns a counter with one label."""
    return _filled(core.CounterMetricFamily(f"envwire_{name}", text, labels=[label]), values)


def _filled(family: _Labelled, values: Mapping[str, float]) -> _Labelled:
    for key, value in sorted(values.items()):
        family.add_metric([key], value)
    return family


def summaries(
    name: str, text: str, label: str, values: Mapping[str, tuple[int, float]]
) -> core.SummaryMetricFamily:
    """Returns a summary with one label; the values are counts and sums."""
    family = core.SummaryMetricFamily(f"envwire_{name}", text, labels=[label])
    for key, (count, total) in sorted(values.items()):
        family.add_metric([key], count, total)
    return family


def version() -> core.Metric:
    """Returns a metric that has the version as a label."""
    return core.InfoMetricFamily("envwire_build", "The version that runs.", {"version": VERSION})


def makes(tally: Tally) -> Iterator[core.Metric]:
    """Yields the number of Makes and their durations."""
    yield counters(
        "makes", "Makes by outcome: MADE, CANCELLED or an error's reason.", "outcome", tally.makes
    )
    bounds = [*map(str, MAKE_BOUNDS), "+Inf"]
    yield core.HistogramMetricFamily(
        "envwire_make_seconds",
        "How long Makes took, from the request to the answer, waiting included.",
        buckets=list(zip(bounds, accumulate(tally.make_buckets), strict=True)),
        sum_value=tally.make_seconds,
    )
