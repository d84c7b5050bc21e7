"""The Text space: strings over an alphabet, of a length between two bounds."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from envwire.envs.logger import require
from envwire.envs.spaces import arguments
from envwire.envs.spaces.space import MaskNDArray, Space
from envwire.envs.type_guards import is_integer

#: The letters A to Z in both cases and the ten digits.
alphanumeric: frozenset[str] = frozenset(
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
)


class Text(Space[str]):
    """The strings of ``min_length`` to ``max_length`` characters from a given set.

    The order of the characters decides what sampling draws, what a mask's entries mean and how
    elements flatten; equality looks at the set alone.

    Attributes:
        min_length: The length of the shortest strings.
        max_length: The length of the longest strings.
    """

    min_length: int
    max_length: int
    _char_list: tuple[str, ...]
    _char_index: dict[str, np.int32]

    def __init__(
        self,
        max_length: int,
        *,
        min_length: int = 1,
        charset: Iterable[str] = alphanumeric,
        seed: int | np.random.Generator | None = None,
    ) -> None:
        """Builds the space.

        Args:
            max_length: The length of the longest strings, inclusive.
            min_length: The length of the shortest strings, at least 0.
            charset: The characters. Sets are sorted, so that their order is the same in every
                process; strings and sequences keep their order and lose duplicates.
            seed: See `Space`.

        Raises:
            TypeError: A length is not an integer.
            ValueError: The lengths are negative or out of order, or an element of ``charset`` is
                not a single character.
        """
        _check_lengths(min_length, max_length)
        self.min_length = int(min_length)
        self.max_length = int(max_length)
        self._char_list = _order(charset)
        self._char_index = {char: np.int32(i) for i, char in enumerate(self._char_list)}
        super().__init__(dtype=str, seed=seed)

    @property
    def character_list(self) -> tuple[str, ...]:
        """The characters in the space's order."""
        return self._char_list

    @property
    def character_set(self) -> frozenset[str]:
        """The characters as a set."""
        return frozenset(self._char_list)

    @property
    def characters(self) -> str:
        """The characters as one sorted string."""
        return "".join(sorted(self._char_list))

    def character_index(self, char: str) -> np.int32:
        """Returns the position of a character in the space's order.

        Raises:
            KeyError: The space has no such character.
        """
        return self._char_index[char]

    @property
    def is_np_flattenable(self) -> bool:
        """Always true: a string flattens to the positions of its characters, padded."""
        return True

    def sample(
        self,
        mask: tuple[int | None, MaskNDArray | None] | None = None,
        probability: tuple[int | None, NDArray[np.float64] | None] | None = None,
    ) -> str:
        """Draws a string: its length first, then each character, all with the same chance.

        Args:
            mask: A pair ``(length, characters)``. ``length`` fixes the length; ``characters`` is
                an int8 array with one entry for each of `character_list`, 1 for those that may be
                drawn and 0 for the others. Either may be None.
            probability: The same, with the chance of each character as a float64 array.

        Raises:
            ValueError: Both are given, or no character may be drawn though ``min_length`` is not 0.
            AssertionError: See `Space.sample`.
        """
        kind, weights = arguments.choose(mask, probability)
        length, chances = (None, None) if weights is None else self._read_mask(kind, weights)
        if length is None:
            length = int(self.np_random.integers(self.min_length, self.max_length + 1))
        if chances is None:
            chances = np.ones(len(self._char_list)) / (len(self._char_list) or 1)
        if not np.any(chances):
            if self.min_length == 0:
                return ""
            raise ValueError(
                "No character may be drawn, so only the empty string is possible; "
                f"but the strings of {self} have at least {self.min_length} characters."
            )
        drawn = self.np_random.choice(len(self._char_list), length, p=chances)
        return "".join(self._char_list[i] for i in cast("list[int]", drawn.tolist()))

    def _read_mask(self, kind: arguments.MaskKind, mask: Any) -> tuple[int | None, Any]:
        """Returns the length, and the chance of each character."""
        arguments.check_parts(kind, mask, 2)
        length, chances = mask
        if length is not None:
            self._check_length(length)
        if chances is None:
            return length, None
        arguments.check_array(kind, chances, (len(self._char_list),))
        if kind == "probability":
            arguments.check_distribution(chances)
            return length, chances
        arguments.check_values(chances, (0, 1))
        return length, chances / (np.sum(chances) or 1)

    def _check_length(self, length: Any) -> None:
        require(
            is_integer(length),
            f"The length of a Text sample must be an integer, got {length!r}.",
        )
        require(
            self.min_length <= length <= self.max_length,
            f"The length of a Text sample must be between {self.min_length} and "
            f"{self.max_length}, got {length}.",
        )

    def contains(self, x: Any) -> bool:
        """Returns whether ``x`` is a string of an allowed length and only of allowed characters."""
        return (
            isinstance(x, str)
            and self.min_length <= len(x) <= self.max_length
            and all(char in self._char_index for char in x)
        )

    def __repr__(self) -> str:
        return f"Text({self.min_length}, {self.max_length}, charset={self.characters})"

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Text)
            and self.min_length == other.min_length
            and self.max_length == other.max_length
            and self.character_set == other.character_set
        )


def _check_lengths(min_length: int, max_length: int) -> None:
    for name, length in (("min_length", min_length), ("max_length", max_length)):
        if not is_integer(length):
            raise TypeError(f"The {name} of a Text space must be an integer, got {length!r}.")
    if not 0 <= min_length <= max_length:
        raise ValueError(
            "The lengths of a Text space must satisfy 0 <= min_length <= max_length; "
            f"got min_length={min_length} and max_length={max_length}."
        )


def _order(charset: Iterable[str]) -> tuple[str, ...]:
    """Returns the distinct characters, in an order that does not depend on the process."""
    unordered = isinstance(charset, (set, frozenset))
    characters = tuple(sorted(charset) if unordered else dict.fromkeys(charset))
    wrong = [char for char in characters if len(char) != 1]
    if wrong:
        raise ValueError(f"Every element of charset must be a single character, got {wrong}.")
    return characters
