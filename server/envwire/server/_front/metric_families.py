"""Prometheus metrics that servers and gateways share."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import accumulate
from typing import TypeVar

from prometheus_client import core

from envwire.server._front.tally import MAKE_BOUNDS, Tally
from envwire.server._version import VERSION

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
