"""The OneOf space: an element of one of several spaces, with the position of that space."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from envwire.envs.spaces import arguments
from envwire.envs.spaces.batched_elements import (
    Allocate,
    create_empty_array,
    element_from_json,
    element_to_json,
)
from envwire.envs.spaces.space import Seed, Space, SpacesInside, check_spaces
from envwire.envs.type_guards import is_tuple


class OneOf(SpacesInside[tuple[Any, Any]]):
    """The pairs of a position and an element of the space at that position.

    Attributes:
        spaces: The spaces to choose from.
    """

    spaces: tuple[Space[Any], ...]

    def __init__(
        self,
        spaces: Iterable[Space[Any]],
        seed: Seed | np.random.Generator | None = None,
    ) -> None:
        """Builds the space from the spaces to choose from.

        Args:
            spaces: At least one space.
            seed: See `seed`.

        Raises:
            TypeError: ``spaces`` cannot be iterated, or an entry is not a space.
            ValueError: There are no spaces.
        """
        self.spaces = check_spaces("OneOf", spaces)
        if not self.spaces:
            raise ValueError("A OneOf space needs at least one space to choose from, got none.")
        super().__init__(None, None, seed)

    def seed(self, seed: Seed | None = None) -> tuple[Any, ...]:
        """Seeds this space, which draws the position, and every space inside.

        Args:
            seed: None for fresh entropy, an int from which the seeds of the spaces are drawn, or a
                tuple or list: the seed of this space, then one for each space inside.

        Returns:
            The seed of this space, then that of each space inside.

        Raises:
            TypeError, ValueError: ``seed`` is of another type or length.
        """
        return self._seed_all(self.spaces, seed)

    def sample(
        self, mask: tuple[Any, ...] | None = None, probability: tuple[Any, ...] | None = None
    ) -> tuple[np.int64, Any]:
        """Draws a position, all with the same chance, and then from the space there.

        Args:
            mask: A tuple with the mask of each space, or None for those that need none.
            probability: The same with probabilities.

        Raises:
            ValueError, AssertionError: See `Space.sample`.
        """
        index = self.np_random.integers(0, len(self.spaces), dtype=np.int64)
        kind, chosen = arguments.choose(mask, probability)
        if chosen is None:
            return index, self.spaces[index].sample()
        arguments.check_parts(kind, chosen, len(self.spaces))
        return index, self.spaces[index].sample(**{kind: chosen[index]})

    def contains(self, x: Any) -> bool:
        """Returns whether ``x`` is a pair of a position and an element of the space there.

        The position is an int or a `numpy.int64`.
        """
        return (
            is_tuple(x)
            and len(x) == 2
            and (isinstance(x[0], int) or type(x[0]) is np.int64)
            and bool(0 <= x[0] < len(self.spaces))
            and x[1] in self.spaces[x[0]]
        )

    def to_jsonable(self, sample_n: Iterable[tuple[Any, Any]]) -> list[Any]:
        """Turns pairs into lists of the position and the JSONable value."""
        pairs = [(int(index), value) for index, value in sample_n]
        return [[index, element_to_json(self.spaces[index], value)] for index, value in pairs]

    def from_jsonable(self, sample_n: Iterable[Any]) -> list[tuple[np.int64, Any]]:
        """Turns lists of two back into pairs."""
        pairs = [(np.int64(index), value) for index, value in sample_n]
        return [(index, element_from_json(self.spaces[index], value)) for index, value in pairs]

    def __getitem__(self, index: int) -> Space[Any]:
        return self.spaces[index]

    def __repr__(self) -> str:
        return f"OneOf({', '.join(str(space) for space in self.spaces)})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, OneOf) and self.spaces == other.spaces


@create_empty_array.register(OneOf)
def _empty_pairs(space: OneOf, n: int = 1, fn: Allocate = np.zeros) -> tuple[tuple[()], ...]:  # noqa: ARG001
    return ((),) * n
