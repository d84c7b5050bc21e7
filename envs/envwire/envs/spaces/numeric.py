"""The base of spaces whose elements are arrays or scalars of one shape and dtype."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from envwire.envs.spaces.space import Space, T_co


class NumericSpace(Space[T_co]):
    """A space whose elements are arrays or scalars of one shape and one dtype.

    Its batches are arrays of shape (n, *shape): a subclass registers a rule that makes their space, with
    ``batch_space.register(MySpace)``, without which `batch_space` raises `CustomSpaceError`. A space whose batches are
    tuples derives from `Space`.
    """

    # The base class allows None in both; here they are always known.
    dtype: np.dtype[Any]  # pyright: ignore[reportIncompatibleVariableOverride]
    _shape: tuple[int, ...]  # pyright: ignore[reportIncompatibleVariableOverride]

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of every element."""
        return self._shape

    @property
    def is_np_flattenable(self) -> Literal[True]:
        """Always true."""
        return True

    def to_jsonable(self, sample_n: Iterable[Any]) -> list[Any]:
        """Turns arrays into nested lists and scalars into Python numbers."""
        return [np.asarray(sample).tolist() for sample in sample_n]

    def from_jsonable(self, sample_n: Iterable[Any]) -> list[Any]:
        """Turns nested lists and numbers into arrays of the space's dtype."""
        return [self._restore(np.asarray(sample, dtype=self.dtype)) for sample in sample_n]

    def _restore(self, array: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Restores the shape of an empty array: in JSON (0, 3) and (0,) are both []."""
        return np.reshape(array, self.shape) if array.size == 0 == np.prod(self.shape) else array
