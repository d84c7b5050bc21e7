"""Checks of the masks and probabilities that `sample` takes.

A mask that does not fit raises `AssertionError`: code that guards its masks catches that class.
"""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

import numpy as np

from envwire.envs.utils.reporting import require

MaskKind: TypeAlias = Literal["mask", "probability"]

#: The required dtype of a mask and of probabilities.
DTYPES: dict[MaskKind, type[np.generic]] = {"mask": np.int8, "probability": np.float64}


def choose(mask: Any | None, probability: Any | None) -> tuple[MaskKind, Any | None]:
    """Returns which of the two is given, by name, and its value.

    Raises:
        ValueError: Both are given.
    """
    if mask is not None and probability is not None:
        raise ValueError(
            "sample() takes a mask or a probability, not both; "
            f"got mask={mask} and probability={probability}."
        )
    return ("mask", mask) if probability is None else ("probability", probability)


def check_array(kind: MaskKind, mask: Any, shape: tuple[int, ...]) -> None:
    """Requires an array of the right dtype and of ``shape``."""
    require(
        isinstance(mask, np.ndarray),
        f"The {kind} must be a numpy array, got {mask!r} of type {type(mask).__name__}.",
    )
    require(
        mask.dtype == DTYPES[kind],
        f"The {kind} must have dtype {DTYPES[kind].__name__}, got {mask.dtype}.",
    )
    require(mask.shape == shape, f"The {kind} must have shape {shape}, got {mask.shape}.")


def check_values(mask: Any, allowed: tuple[int, ...]) -> None:
    """Requires every entry of a mask to be one of ``allowed``."""
    require(
        np.isin(mask, allowed).all(), f"The entries of a mask must be among {allowed}, got {mask}."
    )


def check_probabilities(probability: Any) -> None:
    """Requires every entry to be in [0, 1]."""
    require(
        ((probability >= 0) & (probability <= 1)).all(),
        f"Probabilities must be between 0 and 1, got {probability}.",
    )


def check_distribution(probability: Any) -> None:
    """Requires the entries to be probabilities that sum to 1."""
    check_probabilities(probability)
    total = np.sum(probability)
    require(np.isclose(total, 1), f"Probabilities must sum to 1, their sum is {total}.")


def check_parts(kind: MaskKind, mask: Any, count: int) -> None:
    """Requires a tuple with one mask, or None, for each of ``count`` parts."""
    require(
        isinstance(mask, tuple),
        f"The {kind} must be a tuple with one entry per part, got {type(mask).__name__}.",
    )
    require(
        len(mask) == count,
        f"The {kind} must have {count} entries, one per part, got {len(mask)}.",
    )
