"""Actions are read from JSON by their space; JSON can represent all samples of the catalogue of spaces."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from envwire.envs import spaces
from envwire.envs.utils.env_checker import data_equivalence
from envwire.openenv.values import action_of, to_json, to_object

READABLE = [
    spaces.Discrete(5, start=-2),
    spaces.Box(-1, 1, (2, 3), np.float32),
    spaces.Box(0, 255, (4,), np.uint8),
    spaces.MultiDiscrete([3, 4]),
    spaces.MultiBinary(5),
    spaces.Text(12),
    spaces.Tuple([spaces.Discrete(3), spaces.Text(4)]),
    spaces.Dict({"a": spaces.Discrete(3), "metadata": spaces.Box(0, 1, (1,), np.float64)}),
    spaces.OneOf([spaces.Discrete(3), spaces.Text(4)]),
]


@pytest.mark.parametrize("space", READABLE, ids=str)
def test_an_action_comes_back_from_json(space: spaces.Space[Any]) -> None:
    space.seed(1)
    for _ in range(20):
        sample = space.sample()
        data = json.loads(json.dumps(to_object(sample)))
        read = action_of(space, data)
        assert space.contains(read)
        assert data_equivalence(to_json(read), to_json(sample), exact=True)


@pytest.mark.parametrize(
    ("space", "value"),
    [
        (spaces.Discrete(2), 1.5),
        (spaces.Discrete(2), None),
        (spaces.Box(0, 1, (2,)), [0.5]),
        (spaces.Box(0, 1, (2,)), [[0.5], 1]),
        (spaces.Box(0, 9, (1,), np.uint8), [1.5]),
        (spaces.Box(0, 9, (1,), np.uint8), [300]),
        (spaces.MultiBinary(2), [0, 0.5]),
        (spaces.Text(3), 3),
        (spaces.Dict({"a": spaces.Discrete(2)}), {"b": 1}),
        (spaces.Tuple([spaces.Discrete(2)]), [1, 1]),
        (spaces.OneOf([spaces.Discrete(2)]), [3, 1]),
        (spaces.Sequence(spaces.Discrete(2)), [1]),
    ],
    ids=str,
)
def test_what_is_no_action_is_refused_with_what_is_expected(
    space: spaces.Space[Any], value: Any
) -> None:
    inside = spaces.Tuple([space])
    with pytest.raises(ValueError, match=r"takes .*, and got|no JSON form"):
        action_of(inside, {"value": [value]})


def test_values_without_a_form_are_texts() -> None:
    value = {1: np.float32(0.5), "c": np.array([1j]), "set": {3}, "none": None}
    assert to_json(value) == {"1": 0.5, "c": ["1j"], "set": "{3}", "none": None}
