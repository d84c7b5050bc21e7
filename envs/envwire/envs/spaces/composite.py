"""The base of spaces that contain other spaces: deriving the seeds of these from one seed."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any, TypeAlias

import numpy as np

from envwire.envs.spaces.space import Space, T_co
from envwire.envs.type_guards import is_dict, is_tuple_or_list

#: An int, or one seed for each generator in the form of the space that they belong to.
Seed: TypeAlias = int | dict[Any, Any] | tuple[Any, ...] | list[Any]

#: The seeds of inner spaces are drawn below this.
_SEED_LIMIT = np.iinfo(np.int32).max


class CompositeSpace(Space[T_co]):
    """A space with other spaces inside, each with a generator of its own."""

    @property
    def is_np_flattenable(self) -> bool:
        """False unless a class knows better: the number of elements inside may vary."""
        return False

    def _seed_parts(self, parts: Sequence[Space[Any]], seed: object) -> tuple[Any, ...]:
        """Seeds the inner spaces from None, from an int, or from a tuple or list of seeds.

        Returns:
            The seed of each inner space.
        """
        seeds = seed if is_tuple_or_list(seed) else self._draw_seeds(seed, len(parts))
        self._check_count(seeds, len(parts))
        return tuple(part.seed(value) for part, value in zip(parts, seeds, strict=True))

    def _seed_all(self, parts: Sequence[Space[Any]], seed: object) -> tuple[Any, ...]:
        """Seeds this space and the inner ones, from the same forms of seed.

        Returns:
            The seed of this space, then that of each inner space.
        """
        if is_tuple_or_list(seed):
            self._check_count(seed, len(parts) + 1)
            return super().seed(seed[0]), *self._seed_parts(parts, seed[1:])
        inner = self._seed_parts(parts, seed)
        # Drawing the inner seeds moved this space's generator on.
        return super().seed(seed), *inner

    def _draw_seeds(self, seed: object, count: int) -> list[int | None]:
        """Draws a seed for each inner space from a generator that is seeded with ``seed``."""
        if seed is None:
            return [None] * count
        if not isinstance(seed, int):
            raise TypeError(
                f"The seed of a {type(self).__name__} space must be None, an int, or hold a seed "
                f"for each of its generators; got {seed!r} of type {type(seed).__name__}."
            )
        super().seed(seed)
        return [int(draw) for draw in self.np_random.integers(_SEED_LIMIT, size=count)]

    def _check_count(self, seeds: Sequence[Any], count: int) -> None:
        if len(seeds) != count:
            raise ValueError(
                f"The seed of this {type(self).__name__} space must hold {count} seeds, one for "
                f"each of its generators; got {len(seeds)}."
            )


class SpacesInside(CompositeSpace[T_co]):
    """A composite space that keeps the spaces inside in a collection.

    Attributes:
        spaces: The spaces inside: a tuple, or a dict of them.
    """

    spaces: Any

    @property
    def is_np_flattenable(self) -> bool:
        """Whether all the spaces are."""
        return all(space.is_np_flattenable for space in parts_of(self))

    def __len__(self) -> int:
        return len(self.spaces)


def parts_of(space: SpacesInside[Any]) -> Collection[Space[Any]]:
    """Returns the spaces inside, in order."""
    return space.spaces.values() if is_dict(space.spaces) else space.spaces


def map_parts(space: SpacesInside[Any], function: Callable[[Space[Any], Any], Any]) -> Any:
    """Returns what ``function`` makes of each space inside and its key, as a dict for a dict of spaces.

    For a tuple of spaces it is a tuple, and the keys are the positions.
    """
    if is_dict(space.spaces):
        return {key: function(part, key) for key, part in space.spaces.items()}
    return tuple(function(part, position) for position, part in enumerate(space.spaces))


def check_spaces(owner: str, spaces: Iterable[Any]) -> tuple[Space[Any], ...]:
    """Returns the spaces as a tuple.

    Raises:
        TypeError: ``spaces`` cannot be iterated, or an entry is not a space.
    """
    parts = tuple(spaces)
    for i, space in enumerate(parts):
        if not isinstance(space, Space):
            raise TypeError(
                f"A {owner} space is built from spaces; at position {i} is a "
                f"{type(space).__name__}: {space!r}."
            )
    return parts
