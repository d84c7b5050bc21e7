"""The Discrete space: a range of consecutive integers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from envwire.envs.spaces import arguments
from envwire.envs.spaces.arguments import limits
from envwire.envs.spaces.space import MaskNDArray, NumericSpace
from envwire.envs.type_guards import is_integer, is_numpy


class Discrete(NumericSpace[np.integer[Any]]):
    """The integers ``start, start + 1, ..., start + n - 1``, as scalars of one integer dtype.

    Attributes:
        n: How many there are, a scalar of the space's dtype.
        start: The smallest of them, a scalar of the space's dtype.
    """

    n: np.integer[Any]
    start: np.integer[Any]

    def __init__(
        self,
        n: int | np.integer[Any],
        seed: int | np.random.Generator | None = None,
        start: int | np.integer[Any] = 0,
        dtype: npt.DTypeLike | None = np.int64,
    ) -> None:
        """Builds the space of ``n`` integers from ``start`` on.

        Args:
            n: How many integers there are, at least 1.
            seed: See `Space`.
            start: The smallest of them.
            dtype: The integer dtype of the elements.

        Raises:
            TypeError: ``n`` or ``start`` is not an integer, or ``dtype`` is not an integer dtype.
            ValueError: ``n`` is not positive.
            OverflowError: ``n`` or ``start`` does not fit the dtype.
        """
        _check_integer("n", n)
        _check_integer("start", start)
        if n <= 0:
            raise ValueError(f"A Discrete space needs at least one element, got n={n}.")
        if dtype is None or not np.issubdtype(dtype, np.integer):
            raise TypeError(f"The dtype of a Discrete space must be an integer dtype, got {dtype}.")
        super().__init__((), dtype, seed)
        self.n = self._to_dtype("n", n)
        self.start = self._to_dtype("start", start)

    def _to_dtype(self, name: str, value: Any) -> np.integer[Any]:
        low, high = limits(self.dtype)
        if not low <= value <= high:
            raise OverflowError(
                f"The {name} of a Discrete space of {self.dtype} must be between {low} and {high}, "
                f"got {value}."
            )
        scalar: np.integer[Any] = self.dtype.type(value)
        return scalar

    def sample(
        self, mask: MaskNDArray | None = None, probability: npt.NDArray[np.float64] | None = None
    ) -> np.integer[Any]:
        """Draws an integer, each with the same chance by default.

        Args:
            mask: An int8 array of shape (n,): 1 for those that may be drawn, 0 for the others. If
                none may, ``start`` is returned.
            probability: A float64 array of shape (n,), the chance of each; they sum to 1.

        Raises:
            ValueError, AssertionError: See `Space.sample`.
        """
        kind, weights = arguments.choose(mask, probability)
        offset: Any
        if weights is None:
            offset = self.np_random.integers(self.n, dtype=self.dtype.type)
        else:
            offset = self.dtype.type(self._sample_weighted(kind, weights))
        element: np.integer[Any] = self.start + offset
        return element

    def _sample_weighted(self, kind: arguments.MaskKind, weights: Any) -> Any:
        """Draws an integer, counted from the start."""
        arguments.check_array(kind, weights, (int(self.n),))
        if kind == "probability":
            arguments.check_distribution(weights)
            return self.np_random.choice(int(self.n), p=weights)
        arguments.check_values(weights, (0, 1))
        (allowed,) = np.nonzero(weights)
        return self.np_random.choice(allowed) if allowed.size else 0

    def contains(self, x: Any) -> bool:
        """Returns whether ``x`` is one of the integers.

        A Python int counts whatever its type; a numpy scalar or 0-d array must have an integer
        dtype that casts safely to the space's.
        """
        if type(x) is not int and not self._has_dtype(x):
            return False
        start, value = int(self.start), int(x)
        return start <= value < start + int(self.n) and value <= limits(self.dtype)[1]

    def _has_dtype(self, x: Any) -> bool:
        if not is_numpy(x):
            return isinstance(x, int)
        return x.shape == () and x.dtype.kind in "iu" and np.can_cast(x.dtype, self.dtype)

    def __repr__(self) -> str:
        start = f", start={self.start}" if self.start != 0 else ""
        dtype = f", dtype={self.dtype}" if self.dtype != np.int64 else ""
        return f"Discrete({self.n}{start}{dtype})"

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Discrete)
            and self.dtype == other.dtype
            and bool(self.n == other.n)
            and bool(self.start == other.start)
        )

    def from_jsonable(self, sample_n: Iterable[int]) -> list[np.integer[Any]]:
        """Turns numbers into scalars of the space's dtype."""
        return [self.dtype.type(sample) for sample in sample_n]


def _check_integer(name: str, value: object) -> None:
    if not is_integer(value):
        raise TypeError(
            f"The {name} of a Discrete space must be an integer, "
            f"got {value!r} of type {type(value).__name__}."
        )
