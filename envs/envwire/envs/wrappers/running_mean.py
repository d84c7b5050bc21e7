"""Running mean and variance of a stream of values, in constant memory."""

from __future__ import annotations

import numpy as np
from numpy.typing import DTypeLike

from envwire.envs._env import Array


class RunningMeanStd:
    """A running mean and variance, by the parallel algorithm of Chan, Golub and LeVeque (1979).

    Args:
        epsilon: The count to begin with; it keeps the first division from being by zero.
        shape: The shape of one value.
        dtype: The dtype to count in.

    Attributes:
        mean: Of that shape and dtype.
        var: Of that shape and dtype.
        count: How many values there were.
    """

    def __init__(
        self, epsilon: float = 1e-4, shape: tuple[int, ...] = (), dtype: DTypeLike = np.float64
    ) -> None:
        self.mean: Array = np.zeros(shape, dtype=dtype)
        self.var: Array = np.ones(shape, dtype=dtype)
        self.count: float = epsilon

    def update(self, x: Array) -> None:
        """Counts a batch of values, one per element of the first axis."""
        self.update_from_moments(np.mean(x, axis=0), np.var(x, axis=0), x.shape[0])

    def update_from_moments(self, batch_mean: Array, batch_var: Array, batch_count: float) -> None:
        """Counts a batch known by its mean, variance and size."""
        self.mean, self.var, self.count = update_mean_var_count_from_moments(
            self.mean, self.var, self.count, batch_mean, batch_var, batch_count
        )


def update_mean_var_count_from_moments(
    mean: Array,
    var: Array,
    count: float,
    batch_mean: Array,
    batch_var: Array,
    batch_count: float,
) -> tuple[Array, Array, float]:
    """Returns the mean, variance and size of two sets together, each known by these."""
    total = count + batch_count
    delta = batch_mean - mean
    squares = var * count + batch_var * batch_count
    squares = squares + np.square(delta) * count * batch_count / total
    return mean + delta * batch_count / total, squares / total, total
