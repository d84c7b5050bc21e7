"""Infos of sessions merge into the infos of a `SyncVectorEnv`."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np
import pytest

from envwire.client._vector.infos import join_infos
from envwire.server._hosting.vector_hosts import columns, gather
from envwire.testing.comparing import identical

#: Values of one key; a dict in one environment and a number in another is the odd case.
VALUES: tuple[Any, ...] = ({}, {"a": 1}, {"a": {"b": 1}}, 3, 2.5, "text", None)


class Local(gymnasium.vector.VectorEnv[Any, Any, Any]):
    num_envs = 3


def local(infos: list[dict[str, Any]]) -> dict[str, Any]:
    merged: dict[str, Any] = {}
    for index, info in enumerate(infos):
        merged = Local()._add_info(merged, info, index)
    return merged


def remote(infos: list[dict[str, Any]], sizes: tuple[int, ...]) -> dict[str, Any]:
    starts = itertools.accumulate((0, *sizes[:-1]))
    parts: list[Any] = []
    for start, size in zip(starts, sizes, strict=True):
        gathered: Any = {}
        for index in range(size):
            gather(gathered, infos[start + index], index)
        parts.append(columns(gathered, size))
    return join_infos(sizes, parts)


def result(merge: Callable[..., Any], *args: Any) -> Any:
    try:
        return merge(*args)
    except (AttributeError, TypeError, ValueError) as error:
        return type(error)


@pytest.mark.parametrize("sizes", [(3,), (1, 1, 1), (2, 1), (1, 2)])
def test_a_key_that_holds_a_dict_in_some_environments(sizes: tuple[int, ...]) -> None:
    for values in itertools.product(VALUES, repeat=3):
        infos: list[dict[str, Any]] = [{"key": value} for value in values]
        expected, found = result(local, infos), result(remote, infos, sizes)
        assert identical(found, expected), values


def test_native_infos_without_masks_get_none() -> None:
    """ALE's vector environment has none (`lives`); a session whose members differ sends one (`bonus`)."""
    first: dict[str, Any] = {
        "lives": np.array([5, 4]),
        "bonus": np.array([1.0, 0.0]),
        "deep": {"frame": np.array([1, 2])},
    }
    second = {"lives": np.array([3]), "bonus": np.array([2.0]), "deep": {"frame": np.array([3])}}
    first["_bonus"] = np.array([True, False])
    joined = join_infos((2, 1), [first, second])
    assert identical(joined.pop("_bonus"), np.array([True, False, True]))
    assert identical(
        joined,
        {
            "lives": np.array([5, 4, 3]),
            "bonus": np.array([1.0, 0.0, 2.0]),
            "deep": {"frame": np.array([1, 2, 3])},
        },
    )


def observations(start: int, size: int) -> dict[str, Any]:
    """A batch of observations of a `Dict` that holds a `Tuple`."""
    rows = np.arange(start, start + size, dtype=np.float32)
    return {"a": rows, "b": (np.stack([rows] * 2, 1), {"c": rows > 1})}


@pytest.mark.parametrize("sizes", [(3,), (2, 1), (1, 1, 1)])
def test_the_last_observations_of_a_native_environment_are_a_batch(sizes: tuple[int, ...]) -> None:
    starts = itertools.accumulate((0, *sizes[:-1]))
    parts = [
        {
            "final_obs": observations(start, size),
            "_final_obs": np.ones(size, np.bool_),
            "why": np.full(size, "fell", object),  # has to be merged, which the others need not
        }
        for start, size in zip(starts, sizes, strict=True)
    ]
    joined = join_infos(sizes, parts)
    assert identical(joined["final_obs"], observations(0, 3))
    assert identical(joined["_final_obs"], np.ones(3, np.bool_))
