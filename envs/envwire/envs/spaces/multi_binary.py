"""The MultiBinary space: arrays of zeros and ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from envwire.envs.spaces import arguments
from envwire.envs.spaces.space import MaskNDArray, NumericSpace
from envwire.envs.type_guards import is_array, is_sequence, promote_sequence


class MultiBinary(NumericSpace[NDArray[np.int8]]):
    """The int8 arrays of one shape whose entries are 0 or 1.

    Attributes:
        n: The shape as it was given: an int for one axis, a tuple for several.
    """

    n: int | tuple[int, ...]

    def __init__(
        self,
        n: NDArray[np.integer[Any]] | Sequence[int] | int,
        seed: int | np.random.Generator | None = None,
    ) -> None:
        """Builds the space of the arrays of shape ``n``.

        Args:
            n: The number of entries, or the shape if there are several axes.
            seed: See `Space`.

        Raises:
            ValueError: ``n`` is neither an int nor a sequence, or a dimension is not positive.
        """
        self.n = _read_n(n)
        shape = (self.n,) if isinstance(self.n, int) else self.n
        if any(dim <= 0 for dim in shape):
            raise ValueError(f"Every dimension of a MultiBinary space must be positive, got n={n}.")
        super().__init__(shape, np.int8, seed)

    def sample(
        self, mask: MaskNDArray | None = None, probability: NDArray[np.float64] | None = None
    ) -> NDArray[np.int8]:
        """Draws each entry independently, 0 and 1 with the same chance by default.

        Args:
            mask: An int8 array of the space's shape: 0 and 1 fix the entry, 2 leaves it to chance.
            probability: A float64 array of the space's shape, the chance of a 1.

        Raises:
            ValueError, AssertionError: See `Space.sample`.
        """
        kind, weights = arguments.choose(mask, probability)
        if weights is None:
            return self._toss()
        arguments.check_array(kind, weights, self.shape)
        if kind == "mask":
            arguments.check_values(weights, (0, 1, 2))
            return np.where(weights == 2, self._toss(), weights)
        arguments.check_probabilities(weights)
        return np.asarray(self.np_random.random(self.shape) < weights, np.int8)

    def _toss(self) -> NDArray[np.int8]:
        return self.np_random.integers(0, 2, self.shape, np.int8)

    def contains(self, x: Any) -> bool:
        """Returns whether ``x``, an array or a sequence, has the shape and only zeros and ones."""
        x = promote_sequence(x)
        return is_array(x) and x.shape == self.shape and bool(np.all((x == 0) | (x == 1)))

    def __repr__(self) -> str:
        return f"MultiBinary({self.n})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, MultiBinary) and self.n == other.n


def _read_n(n: object) -> int | tuple[int, ...]:
    if isinstance(n, int):
        return int(n)
    if is_sequence(n):
        return tuple(int(dim) for dim in n)
    raise ValueError(
        f"The n of a MultiBinary space must be an int or a sequence of ints, got {n!r}."
    )
