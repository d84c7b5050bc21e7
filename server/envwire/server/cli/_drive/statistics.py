"""Statistics of an evaluation: means with confidence intervals, quantiles, and a histogram."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
import numpy.typing as npt

from envwire.server.cli._drive.evaluation import Result

CONFIDENCE = 0.95
_RESAMPLES = 2000
_BLOCKS = " ▏▎▍▌▋▊▉█"
_BINS, _WIDTH = 12, 40

Numbers = npt.NDArray[np.float64]


def summary(results: Sequence[Result], seed: int) -> dict[str, Any]:
    """Returns the statistics of the results, bit for bit the same for the same results and seed."""
    ends = Counter(result.end for result in results)
    return {
        "return": _described(np.array([result.total for result in results]), seed),
        "length": _described(np.array([result.steps for result in results], np.float64), seed),
        "ends": {end: ends[end] for end in ("terminated", "truncated", "cut")},
        "episodes": [asdict(result) for result in results],
    }


def _described(values: Numbers, seed: int) -> dict[str, Any]:
    low, high = interval(values, seed)
    return {
        "mean": float(values.mean()),
        "ci95": [low, high],
        "std": float(values.std(ddof=1)) if len(values) > 1 else 0.0,
        "min": float(values.min()),
        "median": float(np.median(values)),
        "max": float(values.max()),
    }


def interval(values: Numbers, seed: int) -> tuple[float, float]:
    """Returns the confidence interval of the mean, as percentiles of the means of resampled values (bootstrap)."""
    rng = np.random.default_rng(seed)
    size = len(values)
    means = np.array([values[rng.integers(0, size, size)].mean() for _ in range(_RESAMPLES)])
    low, high = np.quantile(means, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
    return float(low), float(high)


def histogram(values: Numbers) -> list[str]:
    """Returns a histogram as lines of text, one bar for each range of values."""
    counts, edges = np.histogram(values, bins=min(_BINS, len(np.unique(values))))
    most = max(int(counts.max()), 1)
    return [
        f"{low:10.1f} to {high:10.1f} {_bar(count / most)} {count}"
        for low, high, count in zip(edges, edges[1:], counts.tolist(), strict=False)
    ]


def _bar(share: float) -> str:
    eighths = round(share * _WIDTH * 8)
    rest = _BLOCKS[eighths % 8].strip()
    return (_BLOCKS[-1] * (eighths // 8) + rest).ljust(_WIDTH)
