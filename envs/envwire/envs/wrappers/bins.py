"""A Box cut into a grid of cells, each dimension into bins of equal width."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from envwire.envs.spaces import Box, Discrete, MultiDiscrete


class BinGrid:
    """The cells of a Box.

    Attributes:
        low: The Box's lower bounds, flat.
        high: Its upper bounds, flat.
        bins: The number of bins of each dimension.
        edges: The ``bins + 1`` edges of each dimension.

    Raises:
        ValueError: The Box is not bounded, or ``bins`` is not one number or one per dimension.
    """

    def __init__(self, box: Box, bins: int | tuple[int, ...]) -> None:
        self.low: NDArray[Any] = np.ravel(box.low)
        self.high: NDArray[Any] = np.ravel(box.high)
        if np.any(np.isinf(self.low) | np.isinf(self.high)):
            raise ValueError(f"Only a bounded Box can be cut into bins, got {box}")
        counts = [bins] * self.low.size if isinstance(bins, int) else bins
        if len(counts) != self.low.size:
            raise ValueError(f"Expected {self.low.size} numbers of bins, got {bins}")
        self.bins: NDArray[np.int64] = np.array(counts)
        self._counts: tuple[int, ...] = tuple(counts)
        sides = zip(self.low, self.high, self._counts, strict=True)
        #: In the dtype of the limits.
        self.edges: list[NDArray[Any]] = [np.linspace(low, high, n + 1) for low, high, n in sides]

    def space(self, multidiscrete: bool) -> MultiDiscrete | Discrete:
        """The space of cells: of a bin per dimension, or of one number for all."""
        return MultiDiscrete(self.bins) if multidiscrete else Discrete(int(np.prod(self.bins)))

    def number(self, cell: Sequence[int]) -> Any:
        """The number of a cell given as one bin per dimension, the last dimension fastest."""
        return np.ravel_multi_index(tuple(cell), self._counts)

    def cell(self, number: int) -> NDArray[np.int64]:
        """The bin of each dimension of the cell with this number."""
        cell = np.unravel_index(number, self._counts)
        return np.array(cell, dtype=np.int64)
