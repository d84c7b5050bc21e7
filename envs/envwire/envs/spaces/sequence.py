"""The Sequence space: any number of elements of one space."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from envwire.envs.logger import require
from envwire.envs.spaces import arguments
from envwire.envs.spaces.batched_elements import (
    Allocate,
    batch_from_json,
    batch_to_json,
    create_empty_array,
    elements_of,
    is_stackable,
    stack,
)
from envwire.envs.spaces.batched_spaces import batch_space
from envwire.envs.spaces.space import CompositeSpace, Seed, Space
from envwire.envs.type_guards import is_array, is_integer, is_tuple

#: The chance that a sampled sequence ends after each element: four elements on average.
_END = 0.25


class Sequence(CompositeSpace[Any]):
    """The sequences of any length whose items are elements of one space.

    Attributes:
        feature_space: The space of the items.
        stack: Whether the items are put together into a batch, as arrays with one more axis in
            front, instead of a tuple.
        stacked_feature_space: The batched form of `feature_space`; only if ``stack`` is true.
    """

    feature_space: Space[Any]
    stack: bool
    stacked_feature_space: Space[Any]

    def __init__(
        self,
        space: Space[Any],
        seed: Seed | np.random.Generator | None = None,
        stack: bool = False,
    ) -> None:
        """Builds the space of sequences of elements of ``space``.

        Args:
            space: The space of the items.
            seed: See `seed`.
            stack: Whether the items are put together into a batch.

        Raises:
            TypeError: ``space`` is not a space.
        """
        if not isinstance(space, Space):  # pyright: ignore[reportUnnecessaryIsInstance] # untyped callers
            raise TypeError(
                f"A Sequence is built from a space, got {space!r} of type {type(space).__name__}."
            )
        self.feature_space = space
        self.stack = stack
        if stack:
            self.stacked_feature_space = batch_space(space, 1)
        super().__init__(None, None, seed)

    def seed(self, seed: Seed | None = None) -> tuple[Any, Any]:
        """Seeds this space, which draws the length, and the space of the items.

        Args:
            seed: None for fresh entropy, an int from which the seed of the items is drawn, or a
                tuple or list of two: the seed of this space and that of the items.

        Returns:
            The seed of this space and that of the items.

        Raises:
            TypeError, ValueError: ``seed`` is of another type or length.
        """
        own, feature = self._seed_all((self.feature_space,), seed)
        return own, feature

    def sample(
        self, mask: tuple[Any, Any] | None = None, probability: tuple[Any, Any] | None = None
    ) -> Any:
        """Draws a length, four on average by default, and then the items.

        Args:
            mask: A pair of what `generate_sample_length` takes and a mask for the items.
            probability: The same, with a probability for the items.

        Raises:
            ValueError, AssertionError: See `Space.sample`.
            TypeError: See `generate_sample_length`.
        """
        kind, chosen = arguments.choose(mask, probability)
        length_mask, item_mask = (None, None) if chosen is None else chosen
        length = self.generate_sample_length(length_mask, kind)
        steer = {} if chosen is None else {kind: item_mask}
        items = tuple(self.feature_space.sample(**steer) for _ in range(length))
        return stack(self.feature_space, items) if self.stack else items

    def generate_sample_length(self, length_mask: Any, mask_type: str | None) -> int:
        """Draws the length of a sample.

        Args:
            length_mask: The length itself, a one-dimensional integer array of lengths to choose
                from, or None for a geometric distribution.
            mask_type: What the mask is called in messages.

        Raises:
            AssertionError: A length is negative, or the array is not one of integers.
            TypeError: ``length_mask`` is of another type.
        """
        if length_mask is None:
            return self.np_random.geometric(_END)
        if is_integer(length_mask):
            require(
                length_mask >= 0,
                f"The length of the {mask_type} must not be negative: {length_mask}.",
            )
            return int(length_mask)
        if not is_array(length_mask):
            raise TypeError(
                f"The length of the {mask_type} must be an integer or an array of integers, "
                f"got {length_mask!r} of type {type(length_mask).__name__}."
            )
        require(
            length_mask.ndim == 1
            and np.issubdtype(length_mask.dtype, np.integer)
            and np.all(length_mask >= 0),
            f"The lengths of the {mask_type} must be a one-dimensional array of integers that are "
            f"not negative, got {length_mask!r}.",
        )
        return int(self.np_random.choice(length_mask))

    def contains(self, x: Any) -> bool:
        """Returns whether every item is an element; ``x`` must be a tuple, or a batch if stacked."""
        items: Any = elements_of(self.stacked_feature_space, x) if self.stack else x
        whole = items is not None if self.stack else is_tuple(x)
        return whole and all(item in self.feature_space for item in items)

    def to_jsonable(self, sample_n: Iterable[Any]) -> Any:
        """Turns each sequence into a JSONable batch of its items."""
        if not self.stack:
            return [self.feature_space.to_jsonable(sample) for sample in sample_n]
        if is_stackable(self.feature_space):
            return self.stacked_feature_space.to_jsonable(sample_n)
        forms = (self.feature_space, self.stacked_feature_space)
        return [batch_to_json(*forms, sample) for sample in sample_n]

    def from_jsonable(self, sample_n: Any) -> list[Any]:
        """Turns JSONable batches back into sequences."""
        if not self.stack:
            return [tuple(self.feature_space.from_jsonable(sample)) for sample in sample_n]
        if is_stackable(self.feature_space):
            return self.stacked_feature_space.from_jsonable(sample_n)
        forms = (self.feature_space, self.stacked_feature_space)
        return [batch_from_json(*forms, sample) for sample in sample_n]

    def __repr__(self) -> str:
        return f"Sequence({self.feature_space}, stack={self.stack})"

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Sequence)
            and self.stack == other.stack
            and self.feature_space == other.feature_space
        )


@create_empty_array.register(Sequence)
def _empty_sequences(space: Sequence, n: int = 1, fn: Allocate = np.zeros) -> tuple[Any, ...]:
    if not space.stack:
        return ((),) * n
    return tuple(create_empty_array(space.feature_space, 1, fn) for _ in range(n))
