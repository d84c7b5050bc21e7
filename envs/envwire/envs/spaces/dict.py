"""The Dict space: dictionaries with one element of a space under each key."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator, KeysView, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from envwire.envs.logger import require
from envwire.envs.spaces import arguments
from envwire.envs.spaces.space import Seed, Space, SpacesInside
from envwire.envs.type_guards import is_dict, is_mapping, is_sequence

Spaces: TypeAlias = Mapping[Any, Space[Any]] | Sequence[tuple[Any, Space[Any]]]


class Dict(SpacesInside[dict[Any, Any]], Mapping[Any, Space[Any]]):
    """The dictionaries that have the space's keys, and under each key an element of its space.

    The space is itself a mapping from keys to spaces. Equality ignores the order of the keys;
    sampling and flattening follow it.

    Attributes:
        spaces: The space under each key.
        sort_keys: Whether the keys of a plain mapping were sorted.
    """

    spaces: dict[Any, Space[Any]]
    sort_keys: bool

    def __init__(
        self,
        spaces: Spaces | None = None,
        seed: Seed | np.random.Generator | None = None,
        *,
        sort_keys: bool = True,
        **spaces_kwargs: Space[Any],
    ) -> None:
        """Builds the space from a mapping, from pairs or from keywords.

        Args:
            spaces: The space of each key.
            seed: See `seed`.
            sort_keys: Whether to sort the keys of a mapping that is not an `OrderedDict`, if they
                can be compared. Pairs and keywords keep their order.
            **spaces_kwargs: More keys and their spaces, after those of ``spaces``.

        Raises:
            TypeError: ``spaces`` is of another type, or a value is not a space.
            ValueError: A keyword repeats a key of ``spaces``.
        """
        self.sort_keys = sort_keys
        self.spaces = _order(spaces, sort_keys)
        repeated = self.spaces.keys() & spaces_kwargs.keys()
        if repeated:
            raise ValueError(f"The keywords {sorted(repeated)} repeat keys of the spaces given.")
        self.spaces |= spaces_kwargs
        for key, space in self.spaces.items():
            _check_space(key, space)
        super().__init__(None, None, seed)

    def seed(self, seed: Seed | None = None) -> dict[Any, Any]:
        """Seeds every space inside.

        Args:
            seed: None for fresh entropy, an int from which the seeds of the spaces are drawn, or a
                dict with a seed for each key.

        Returns:
            The seed of the space under each key.

        Raises:
            TypeError, ValueError: ``seed`` is of another type, or has other keys.
        """
        if not is_dict(seed):
            seed = dict(zip(self, self._draw_seeds(seed, len(self)), strict=True))
        if seed.keys() != self.spaces.keys():
            raise ValueError(f"The seeds must have the keys {list(self)}, got {list(seed)}.")
        return {key: self.spaces[key].seed(value) for key, value in seed.items()}

    def sample(
        self, mask: dict[Any, Any] | None = None, probability: dict[Any, Any] | None = None
    ) -> dict[Any, Any]:
        """Draws from each space inside.

        Args:
            mask: A dict with the mask of each space, or None for those that need none.
            probability: The same with probabilities.

        Raises:
            ValueError, AssertionError: See `Space.sample`.
        """
        kind, chosen = arguments.choose(mask, probability)
        if chosen is None:
            return {key: space.sample() for key, space in self.spaces.items()}
        require(
            isinstance(chosen, dict), f"The {kind} must be a dict, got {type(chosen).__name__}."
        )
        require(
            chosen.keys() == self.spaces.keys(),
            f"The {kind} must have the keys {list(self.spaces)}, got {list(chosen)}.",
        )
        return {key: space.sample(**{kind: chosen[key]}) for key, space in self.spaces.items()}

    def contains(self, x: Any) -> bool:
        """Returns whether ``x`` is a dict with the same keys and an element under each."""
        return (
            is_dict(x)
            and x.keys() == self.spaces.keys()
            and all(x[key] in space for key, space in self.spaces.items())
        )

    def to_jsonable(self, sample_n: Iterable[dict[Any, Any]]) -> Any:
        """Turns a batch of dicts into a dict of batches, or into a list if the dicts are empty."""
        samples = list(sample_n)
        if not self.spaces:
            return samples
        return {
            key: space.to_jsonable([sample[key] for sample in samples])
            for key, space in self.spaces.items()
        }

    def from_jsonable(self, sample_n: Any) -> list[dict[Any, Any]]:
        """Turns a dict of batches back into a list of dicts.

        Keys that are not strings are also found under their text, which JSON makes of them.
        """
        if not self.spaces:
            return list(sample_n)
        columns = [sample_n[key] if key in sample_n else sample_n[str(key)] for key in self.spaces]
        parts = zip(self.spaces.values(), columns, strict=True)
        batches = [space.from_jsonable(column) for space, column in parts]
        rows = zip(*batches, strict=True)
        return [dict(zip(self.spaces, row, strict=True)) for row in rows]

    def keys(self) -> KeysView[Any]:
        """Returns the keys in the space's order."""
        return self.spaces.keys()

    def __getitem__(self, key: Any) -> Space[Any]:
        return self.spaces[key]

    def __setitem__(self, key: Any, value: Space[Any]) -> None:
        _check_space(key, value)
        self.spaces[key] = value

    def __iter__(self) -> Iterator[Any]:
        return iter(self.spaces)

    def __repr__(self) -> str:
        return f"Dict({', '.join(f'{key!r}: {space}' for key, space in self.spaces.items())})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Dict) and self.spaces == other.spaces


def _order(spaces: object, sort_keys: bool) -> dict[Any, Space[Any]]:
    if spaces is None:
        return {}
    if is_mapping(spaces) and sort_keys and not isinstance(spaces, OrderedDict):
        return _sorted(spaces)
    if is_mapping(spaces) or is_sequence(spaces):
        return dict(spaces)
    raise TypeError(
        f"A Dict space is built from a mapping or from pairs, got {type(spaces).__name__}."
    )


def _sorted(spaces: Mapping[Any, Space[Any]]) -> dict[Any, Space[Any]]:
    try:
        return {key: spaces[key] for key in sorted(spaces)}
    except TypeError:  # keys that cannot be compared, such as 1 and "a", keep their order
        return dict(spaces)


def _check_space(key: Any, space: object) -> None:
    if not isinstance(space, Space):
        raise TypeError(
            f"Every value of a Dict space must be a space; under {key!r} is a "
            f"{type(space).__name__}: {space!r}."
        )
