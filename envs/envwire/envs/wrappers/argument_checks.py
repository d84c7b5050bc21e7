"""Checks of the numbers that wrappers take as arguments."""

from __future__ import annotations

from typing import Any

from envwire.envs.error import InvalidBound, InvalidProbability
from envwire.envs.type_guards import is_integer


def require_at_least(least: int, name: str, value: Any) -> None:
    """Raises `TypeError` unless ``value`` is an integer, and `ValueError` if it is below ``least``."""
    if not is_integer(value):
        raise TypeError(f"{name} must be an integer, got {type(value)}")
    if value < least:
        raise ValueError(f"{name} must be at least {least}, got {value}")


def require_positive(name: str, value: float) -> None:
    """Raises `InvalidBound` unless ``value`` is above 0."""
    if value <= 0:
        raise InvalidBound(f"{name} must be positive, got {value}")


def require_discount(gamma: float) -> None:
    """Raises `InvalidBound` unless ``gamma`` is in [0, 1]."""
    if not 0 <= gamma <= 1:
        raise InvalidBound(f"gamma must be in [0, 1], got {gamma}")


def require_probability(name: str, value: float) -> None:
    """Raises `InvalidProbability` unless ``value`` is in [0, 1)."""
    if not 0 <= value < 1:
        raise InvalidProbability(f"{name} must be in [0, 1), got {value}")
