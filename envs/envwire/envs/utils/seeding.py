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
