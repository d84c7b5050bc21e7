"""The MultiDiscrete space: arrays of integers, each from its own range."""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from envwire.envs import logger
from envwire.envs.spaces import arguments
from envwire.envs.spaces.discrete import Discrete
from envwire.envs.spaces.space import NumericSpace
from envwire.envs.type_guards import is_array, promote_sequence


class MultiDiscrete(NumericSpace[NDArray[np.integer[Any]]]):
    """The integer arrays whose entry ``i`` is one of ``start[i], ..., start[i] + nvec[i] - 1``.

    A game pad with a stick of five positions and two buttons is ``MultiDiscrete([5, 2, 2])``.

    Attributes:
        nvec: How many values each entry can take, an array of the space's shape and dtype.
        start: The smallest value of each entry, an array of the space's shape and dtype.
    """

    nvec: NDArray[np.integer[Any]]
    start: NDArray[np.integer[Any]]

    def __init__(
        self,
        nvec: NDArray[np.integer[Any]] | Sequence[Any] | int,
        dtype: DTypeLike | None = np.int64,
        seed: int | np.random.Generator | None = None,
        start: NDArray[np.integer[Any]] | Sequence[Any] | int | None = None,
    ) -> None:
        """Builds the space from the number of values of each entry.

        Args:
            nvec: How many values each entry can take; any number of axes.
            dtype: The integer dtype of the elements.
            seed: See `Space`.
            start: The smallest value of each entry, of the shape of ``nvec``; zeros by default.

        Raises:
            ValueError: ``dtype`` is not an integer dtype, ``nvec`` has an entry below 1, or
                ``start`` has another shape.
        """
        if dtype is None or not np.issubdtype(dtype, np.integer):
            raise ValueError(
                f"The dtype of a MultiDiscrete space must be an integer dtype, got {dtype}."
            )
        self.nvec = np.array(nvec, dtype)
        self.start = np.zeros_like(self.nvec) if start is None else np.array(start, dtype)
        if self.start.shape != self.nvec.shape:
            raise ValueError(
                "The start of a MultiDiscrete space must have the shape of nvec, "
                f"{self.nvec.shape}; got {self.start.shape}."
            )
        if not np.all(self.nvec > 0):
            raise ValueError(f"Every entry of nvec must be at least 1, got {self.nvec}.")
        super().__init__(self.nvec.shape, dtype, seed)

    def sample(self, mask: Any | None = None, probability: Any | None = None) -> NDArray[Any]:
        """Draws each entry independently, each of its values with the same chance by default.

        Args:
            mask: A tuple, nested as `nvec` has axes, with an int8 array for each entry: 1 for the
                values that may be drawn, 0 for the others. If none may, the smallest is returned.
            probability: The same with float64 arrays, the chance of each value; they sum to 1.

        Raises:
            ValueError, AssertionError: See `Space.sample`.
        """
        kind, weights = arguments.choose(mask, probability)
        if weights is None:
            draw: Any = self.np_random.random(self.nvec.shape) * self.nvec
            element: NDArray[Any] = draw.astype(self.dtype) + self.start
            return element
        return np.array(self._sample_masked(kind, weights, self.nvec, self.start), self.dtype)

    def _sample_masked(self, kind: arguments.MaskKind, mask: Any, nvec: Any, start: Any) -> Any:
        """Draws the entries of a part of the space, axis by axis."""
        if not is_array(nvec):
            return start + self.dtype.type(self._sample_entry(kind, mask, int(nvec)))
        arguments.check_parts(kind, mask, len(nvec))
        parts = zip(mask, nvec, start, strict=True)
        return [self._sample_masked(kind, *part) for part in parts]

    def _sample_entry(self, kind: arguments.MaskKind, mask: Any, count: int) -> Any:
        """Draws one entry, counted from its start."""
        arguments.check_array(kind, mask, (count,))
        (allowed,) = np.nonzero(mask)
        if kind == "mask":
            arguments.check_values(mask, (0, 1))
            return self.np_random.choice(allowed) if allowed.size else 0
        arguments.check_distribution(mask)
        return self.np_random.choice(allowed, p=(mask / np.sum(mask))[allowed])

    def contains(self, x: Any) -> bool:
        """Returns whether ``x``, an array or a sequence, has the shape and only values in range.

        Its dtype must cast safely to the space's.
        """
        x = promote_sequence(x)
        return (
            is_array(x)
            and x.shape == self.shape
            and np.can_cast(x.dtype, self.dtype)
            # Written so that nothing can overflow: the largest value fits the dtype.
            and bool(np.all((self.start <= x) & (x <= self.start + (self.nvec - 1))))
        )

    def __getitem__(self, index: Any) -> Discrete | MultiDiscrete:
        """Returns the space of some of the entries, with a copy of this space's generator."""
        nvec: Any = self.nvec[index]
        start: Any = self.start[index]
        space = MultiDiscrete if nvec.ndim else Discrete
        return space(nvec, start=start, dtype=self.dtype, seed=deepcopy(self.np_random))

    def __len__(self) -> int:
        if self.nvec.ndim >= 2:
            logger.warn("The length of a MultiDiscrete space counts its first axis only.")
        return len(self.nvec)

    def __repr__(self) -> str:
        start = f", start={self.start}" if np.any(self.start != 0) else ""
        return f"MultiDiscrete({self.nvec}{start})"

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, MultiDiscrete)
            and self.dtype == other.dtype
            and np.array_equal(self.nvec, other.nvec)
            and np.array_equal(self.start, other.start)
        )
