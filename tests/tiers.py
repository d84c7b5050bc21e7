"""Which combinations of values `make test` leaves to `make test-all`."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    import hypothesis

#: The values of an argument, or these by what they are called in the name of a test.
Axis = Iterable[Any] | Mapping[str, Any]


def cross(*axes: Axis) -> list[Any]:
    """Returns all combinations; `make test` runs those with at most one value that is not the first of its axis.

    So it runs each value, and not each with all others.
    """
    named = [list(_named(axis).items()) for axis in axes]
    return [
        pytest.param(
            *(value for _, value in chosen),
            id="-".join(name for name, _ in chosen),
            marks=[pytest.mark.slow] * (_others(chosen, named) > 1),
        )
        for chosen in itertools.product(*named)
    ]


def first(axis: Axis, count: int = 1) -> list[Any]:
    """Returns all values; `make test` runs the first ones."""
    return [
        pytest.param(value, id=name, marks=[pytest.mark.slow] * (index >= count))
        for index, (name, value) in enumerate(_named(axis).items())
    ]


def examples(count: int, **others: Any) -> hypothesis.settings:
    """Returns settings for so many examples, the same ones each time; `make test` draws a fifth of them."""
    from hypothesis import settings  # not installed where only tests without it run

    drawn = count if os.environ.get("EXAMPLES") == "all" else max(count // 5, 10)
    return settings(max_examples=drawn, derandomize=True, deadline=None, **others)


def _named(axis: Axis) -> Mapping[str, Any]:
    if isinstance(axis, Mapping):
        return axis
    return {getattr(value, "__name__", str(value)): value for value in axis}


def _others(chosen: tuple[tuple[str, Any], ...], named: list[list[tuple[str, Any]]]) -> int:
    return sum(name != values[0][0] for (name, _), values in zip(chosen, named, strict=True))
