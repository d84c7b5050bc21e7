"""Random number generators of environments and spaces."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias, cast

import numpy as np

from envwire.envs import error

if TYPE_CHECKING:
    RNG: TypeAlias = np.random.Generator
    RandomNumberGenerator: TypeAlias = np.random.Generator


def __getattr__(name: str) -> object:
    """Makes the aliases of the generator's class on first use.

    Importing `numpy.random` costs an eighth of importing all of numpy.
    """
    if name in {"RNG", "RandomNumberGenerator"}:
        return np.random.Generator
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def np_random(seed: int | None = None) -> tuple[np.random.Generator, int]:
    """Makes a PCG64 generator.

    Args:
        seed: Any integer >= 0, however large; ``None`` takes 128 bits from the operating system.

    Returns:
        The generator and the seed that makes it again.

    Raises:
        Error: ``seed`` is not a Python ``int`` or is negative.
    """
    if seed is not None:
        _check_seed(seed)
    sequence = np.random.SeedSequence(seed)
    return np.random.Generator(np.random.PCG64(sequence)), cast("int", sequence.entropy)


def _check_seed(seed: object) -> None:
    if not isinstance(seed, int):
        raise error.Error(
            f"A seed must be a Python int, got {seed!r} of type {type(seed).__name__}; "
            "convert a numpy integer with int(seed)."
        )
    if seed < 0:
        raise error.Error(f"A seed must be at least 0, got {seed}.")


class Seeded:
    """An object with a random number generator, made when it is first needed."""

    _np_random: np.random.Generator | None = None
    _np_random_seed: int | None = None

    @property
    def np_random(self) -> np.random.Generator:
        """The random number generator, seeded from entropy if no seed was given."""
        if self._np_random is None:
            self._np_random, self._np_random_seed = np_random()
        return self._np_random

    @np_random.setter
    def np_random(self, value: np.random.Generator) -> None:
        self._np_random = value
        self._np_random_seed = -1  # a generator does not reveal its seed

    @property
    def np_random_seed(self) -> int:
        """The seed of `np_random`, or -1 if the generator was assigned."""
        if self._np_random_seed is None:
            self._np_random, self._np_random_seed = np_random()
        return self._np_random_seed
