"""The Box space: arrays whose entries lie in closed intervals, bounded or not."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import DTypeLike, NDArray

from envwire.envs import error, logger
from envwire.envs.spaces import arguments
from envwire.envs.spaces.space import NumericSpace
from envwire.envs.type_guards import is_array


class Box(NumericSpace[NDArray[Any]]):
    """Arrays of one shape and dtype, each entry between its own lower and upper bound.

    ``Box(-1.0, 2.0, shape=(3, 4))`` has the same bounds everywhere; arrays as bounds give each
    entry its own: ``Box(np.array([-1.0, 0.0]), np.array([1.0, np.inf]), dtype=np.float64)``.

    An infinite bound leaves that side open. In a signed integer Box it becomes the dtype's limit,
    but the flags still say that the entry is unbounded, and sampling follows the flags.

    Attributes:
        low: The lower bounds, an array of the space's shape and dtype.
        high: The upper bounds, inclusive.
        bounded_below: A boolean array: False where ``low`` was given as minus infinity.
        bounded_above: A boolean array: False where ``high`` was given as infinity.
    """

    low: NDArray[Any]
    high: NDArray[Any]
    bounded_below: NDArray[np.bool_]
    bounded_above: NDArray[np.bool_]

    def __init__(
        self,
        low: arguments.Bound,
        high: arguments.Bound,
        shape: Sequence[int | np.integer[Any]] | None = None,
        dtype: DTypeLike | None = np.float32,
        seed: int | np.random.Generator | None = None,
    ) -> None:
        """Builds the box.

        Args:
            low: The lower bounds: a number for all entries, or an array.
            high: The upper bounds, inclusive: a number for all entries, or an array.
            shape: The shape of the elements; by default that of the bounds, or (1,) if both are
                numbers. It does not broadcast arrays.
            dtype: A boolean, integer or floating dtype.
            seed: See `Space`.

        Raises:
            ValueError: A bound is NaN, out of the dtype's range or infinite where the dtype has no
                infinity; the shapes do not agree; a lower bound is above its upper bound.
            TypeError: ``shape`` is not a sequence of integers.
        """
        box_dtype = arguments.check_dtype(dtype)
        box_shape = arguments.find_shape(shape, low, high)
        self.low, self.bounded_below = arguments.cast_bound(
            arguments.LOW, low, box_shape, box_dtype
        )
        self.high, self.bounded_above = arguments.cast_bound(
            arguments.HIGH, high, box_shape, box_dtype
        )
        if np.any(self.low > self.high):
            raise ValueError(
                "Every lower bound of a Box must be at most its upper bound; "
                f"got low={self.low} and high={self.high}."
            )
        super().__init__(box_shape, box_dtype, seed)

    def is_bounded(self, manner: Literal["both", "below", "above"] = "both") -> bool:
        """Returns whether all entries are bounded on the given side or sides.

        Raises:
            ValueError: ``manner`` is something else.
        """
        below, above = bool(self.bounded_below.all()), bool(self.bounded_above.all())
        sides = {"below": below, "above": above, "both": below and above}
        if manner not in sides:
            raise ValueError(f"manner must be 'both', 'below' or 'above', got {manner!r}.")
        return sides[manner]

    def sample(self, mask: None = None, probability: None = None) -> NDArray[Any]:
        """Draws each entry from a distribution that fits its interval.

        ``[a, b]`` is uniform, ``[a, inf)`` is ``a`` plus an exponential, ``(-inf, b]`` is ``b``
        minus an exponential, and ``(-inf, inf)`` is the standard normal.

        Raises:
            Error: A ``mask`` or a ``probability`` is given; a Box supports neither.
        """
        for name, value in (("mask", mask), ("probability", probability)):
            if value is not None:
                raise error.Error(f"Box.sample takes no {name}, got {value}.")
        return self._cast_draw(self._draw())

    def _draw(self) -> NDArray[np.float64]:
        rng, low, high = self.np_random, self.low, self._upper_end()
        below, above = self.bounded_below, self.bounded_above
        free, closed = ~below & ~above, below & above
        from_low, to_high = below & ~above, ~below & above
        draw = np.empty(self.shape)
        draw[free] = rng.normal(size=np.count_nonzero(free))
        draw[from_low] = low[from_low] + rng.exponential(size=np.count_nonzero(from_low))
        draw[to_high] = high[to_high] - rng.exponential(size=np.count_nonzero(to_high))
        draw[closed] = rng.uniform(low[closed], high[closed])
        return draw

    def _upper_end(self) -> NDArray[Any]:
        """Returns the upper end of a draw that is rounded down, so that all integers are equally likely."""
        if self.dtype.kind == "f":
            return self.high
        end = self.high.astype(np.int64) + 1
        return np.where(end < self.low, self.high + 1.0, end)  # where int64 overflowed

    def _cast_draw(self, draw: NDArray[np.float64]) -> NDArray[Any]:
        """Rounds the draw down to the box's dtype, without leaving the dtype's range."""
        if self.dtype.kind == "f":
            return draw.astype(self.dtype)
        draw = np.floor(draw)
        least, greatest = arguments.limits(self.dtype)
        if self.dtype != np.int64:
            return draw.clip(least, greatest).astype(self.dtype)
        # float64 cannot hold the limits of int64: stay off them, then trim what rounding added.
        return draw.clip(least + 2, greatest - 2).astype(np.int64).clip(self.low, self.high)

    def contains(self, x: Any) -> bool:
        """Returns whether ``x`` has the shape, a dtype that casts safely, and keeps the bounds.

        Warns if ``x`` is not an array, and then tests what it becomes as one.
        """
        if not is_array(x):
            logger.warn("Casting input x to numpy array.")
            try:
                with np.errstate(over="ignore"):
                    x = np.asarray(x, dtype=self.dtype)
            except (ValueError, TypeError, OverflowError):
                return False
        return bool(
            np.can_cast(x.dtype, self.dtype)
            and x.shape == self.shape
            and np.all(x >= self.low)
            and np.all(x <= self.high)
        )

    def __repr__(self) -> str:
        low, high = array_short_repr(self.low), array_short_repr(self.high)
        return f"Box({low}, {high}, {self.shape}, {self.dtype})"

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Box)
            and self.shape == other.shape
            and self.dtype == other.dtype
            and np.allclose(self.low, other.low)
            and np.allclose(self.high, other.high)
        )


def array_short_repr(arr: NDArray[Any]) -> str:
    """Returns the one value that all entries have, or else the whole array, as text."""
    if arr.size and np.min(arr) == np.max(arr):
        return str(np.min(arr))
    return str(arr)
