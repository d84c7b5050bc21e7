"""The Tuple space: tuples with one element of a space at each position."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, overload

import numpy as np

from envwire.envs.spaces import arguments
from envwire.envs.spaces.space import Seed, Space, SpacesInside, check_spaces
from envwire.envs.type_guards import is_array, is_tuple, is_tuple_or_list


class Tuple(SpacesInside[tuple[Any, ...]], Sequence[Space[Any]]):
    """The tuples with an element of each of the spaces, in order.

    The space is itself a sequence of spaces.

    Attributes:
        spaces: The space at each position.
    """

    spaces: tuple[Space[Any], ...]

    def __init__(
        self,
        spaces: Iterable[Space[Any]],
        seed: Seed | np.random.Generator | None = None,
    ) -> None:
        """Builds the space from the space at each position.

        Args:
            spaces: The spaces, in order.
            seed: See `seed`.

        Raises:
            TypeError: An entry is not a space.
        """
        self.spaces = check_spaces("Tuple", spaces)
        super().__init__(None, None, seed)

    def seed(self, seed: Seed | None = None) -> tuple[Any, ...]:
        """Seeds every space inside.

        Args:
            seed: None for fresh entropy, an int from which the seeds of the spaces are drawn, or a
                tuple or list with a seed for each space.

        Returns:
            The seed of each space.

        Raises:
            TypeError, ValueError: ``seed`` is of another type or length.
        """
        return self._seed_parts(self.spaces, seed)

    def sample(
        self, mask: tuple[Any, ...] | None = None, probability: tuple[Any, ...] | None = None
    ) -> tuple[Any, ...]:
        """Draws from each space inside.

        Args:
            mask: A tuple with the mask of each space, or None for those that need none.
            probability: The same with probabilities.

        Raises:
            ValueError, AssertionError: See `Space.sample`.
        """
        kind, chosen = arguments.choose(mask, probability)
        if chosen is None:
            return tuple(space.sample() for space in self.spaces)
        arguments.check_parts(kind, chosen, len(self.spaces))
        parts = zip(self.spaces, chosen, strict=True)
        return tuple(space.sample(**{kind: part}) for space, part in parts)

    def contains(self, x: Any) -> bool:
        """Returns whether ``x``, a tuple, list or array, has an element of each space in order."""
        if is_tuple_or_list(x) or (is_array(x) and x.ndim):
            x = tuple(x)
        return (
            is_tuple(x)
            and len(x) == len(self.spaces)
            and all(part in space for space, part in zip(self.spaces, x, strict=True))
        )

    def to_jsonable(self, sample_n: Iterable[tuple[Any, ...]]) -> list[Any]:
        """Turns a batch of tuples into a list of batches, one for each space.

        If there are no spaces, it stays a batch of empty lists.
        """
        samples = list(sample_n)
        if not self.spaces:
            return [[] for _ in samples]
        return [
            space.to_jsonable([sample[i] for sample in samples])
            for i, space in enumerate(self.spaces)
        ]

    def from_jsonable(self, sample_n: Sequence[Any]) -> list[tuple[Any, ...]]:
        """Turns a list of batches back into a list of tuples."""
        if not self.spaces:
            return [() for _ in sample_n]
        batches = [space.from_jsonable(sample_n[i]) for i, space in enumerate(self.spaces)]
        return list(zip(*batches, strict=True))

    @overload
    def __getitem__(self, index: int) -> Space[Any]: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Space[Any], ...]: ...
    def __getitem__(self, index: int | slice) -> Space[Any] | tuple[Space[Any], ...]:
        return self.spaces[index]

    def __repr__(self) -> str:
        return f"Tuple({', '.join(str(space) for space in self.spaces)})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Tuple) and self.spaces == other.spaces
