"""The page's history holds the last rounds, with zeros for those without a value."""

from __future__ import annotations

import pytest

from envwire.dashboard.history import ROUNDS, History


@pytest.mark.parametrize(
    ("noted", "until", "values"),
    [
        ({}, 5, []),
        ({3: 1.5}, 3, [1.5]),
        ({3: 1.5, 6: 2.0}, 6, [1.5, 0.0, 0.0, 2.0]),
        ({3: 1.5}, 5, [1.5, 0.0, 0.0]),
        ({1: 1.0, ROUNDS: 2.0, ROUNDS + 1: 3.0}, ROUNDS + 1, [*[0.0] * (ROUNDS - 2), 2.0, 3.0]),
        ({1: 1.0, 10**9: 2.0}, 10**9, [*[0.0] * (ROUNDS - 1), 2.0]),
        ({1: 1.0}, 10**9, [0.0] * ROUNDS),
    ],
)
def test_values_of_rounds(noted: dict[int, float], until: int, values: list[float]) -> None:
    history = History()
    for number, value in noted.items():
        history.note(number, value)
    assert history.until(until) == values
