"""The bases of all spaces, sets of values to draw from and to test for membership, and of those that contain others."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any, Generic, Literal, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from envwire.envs.type_guards import is_dict, is_tuple_or_list
from envwire.envs.utils import seeding

T_co = TypeVar("T_co", covariant=True)

#: Which of a space's values a sample may take: 1 for those allowed, 0 for the others.
MaskNDArray: TypeAlias = npt.NDArray[np.int8]


class Space(Generic[T_co]):
    """A set of values: what an environment observes, or what it takes as an action.

    Every space has a random number generator of its own, made when it is first needed; seeding an
    environment does not seed its spaces. Spaces nest: a `Dict` or a `Tuple` has spaces inside, each
    with its own generator, and `seed` reaches them all.

    To write a space of your own, derive from this class and implement `sample`, `contains` and
    `is_np_flattenable`. Register it with the functions of `envwire.envs.spaces.utils` and
    `envwire.envs.vector.utils` if it should work in vector environments and flatten.

    Attributes:
        dtype: The dtype of the elements, or None if they are not arrays or scalars of one dtype.
    """

    dtype: np.dtype[Any] | None
    _shape: tuple[int, ...] | None
    _np_random: np.random.Generator | None

    def __init__(
        self,
        shape: Sequence[int] | None = None,
        dtype: npt.DTypeLike | None = None,
        seed: Any | None = None,
    ) -> None:
        """Sets shape, dtype and seed.

        Args:
            shape: The shape of the elements, if all are arrays of one shape.
            dtype: The dtype of the elements, if all are arrays or scalars of one dtype.
            seed: What `seed` takes, or the generator itself.
        """
        self._shape = None if shape is None else tuple(shape)
        self.dtype = None if dtype is None else np.dtype(dtype)
        self._np_random = None
        if isinstance(seed, np.random.Generator):
            self._np_random = seed
        elif seed is not None:
            self.seed(seed)

    @property
    def np_random(self) -> np.random.Generator:
        """The generator that samples are drawn from, made from fresh entropy if not seeded yet."""
        if self._np_random is None:
            self._np_random, _ = seeding.np_random()
        return self._np_random

    @property
    def shape(self) -> tuple[int, ...] | None:
        """The shape of every element, or None if it varies or the elements are not arrays."""
        return self._shape

    @property
    def is_np_flattenable(self) -> bool:
        """Whether `flatten` turns the elements into one-dimensional arrays of one length."""
        raise NotImplementedError(f"{type(self).__name__} does not say whether it can be flattened")

    def sample(self, mask: Any | None = None, probability: Any | None = None) -> T_co:
        """Draws an element at random.

        Args:
            mask: Which values may be drawn; its form depends on the space.
            probability: How likely each value is; its form depends on the space.

        Returns:
            A new element of the space.

        Raises:
            ValueError: Both ``mask`` and ``probability`` are given.
            AssertionError: ``mask`` or ``probability`` does not fit the space.
        """
        raise NotImplementedError(f"{type(self).__name__} has no sample method")

    def seed(self, seed: Any | None = None) -> Any:
        """Makes the samples repeatable.

        Args:
            seed: An integer >= 0, or None for fresh entropy. Spaces that hold others also take
                one seed for each of the generators inside.

        Returns:
            What to pass to this method to get the same samples again; of the form that the space
            takes, with one seed for each generator.

        Raises:
            Error: ``seed`` is a negative integer, or not a Python int where one is needed.
            TypeError, ValueError: ``seed`` has a form that the space does not take.
        """
        self._np_random, np_random_seed = seeding.np_random(seed)
        return np_random_seed

    def contains(self, x: Any) -> bool:
        """Returns whether ``x`` is an element; the same as ``x in space``."""
        raise NotImplementedError(f"{type(self).__name__} has no contains method")

    def __contains__(self, x: Any) -> bool:
        return self.contains(x)

    def to_jsonable(self, sample_n: Iterable[Any]) -> Any:
        """Turns a batch of elements into something that the ``json`` module takes."""
        return list(sample_n)

    def from_jsonable(self, sample_n: Any) -> list[Any]:
        """Turns what `to_jsonable` made back into a list of elements."""
        return list(sample_n)


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
