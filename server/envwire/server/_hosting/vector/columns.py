"""Collects the infos of a vector environment's members into columns, with every value unchanged.

A `SyncVectorEnv` gives a column the type of the first value that it sees, so that a later 0.5 becomes 0 among integers.
Only the client has all environments of the batch and knows which value is the first. A column of one type is therefore
sent as an array, and a column of several types as an array of objects, which the client converts.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from envwire.envs.type_guards import is_dict
from envwire.envs.vector.info import is_numeric


class _Gathered:
    """The values of one key by member, or nested infos for a key that holds dictionaries."""

    __slots__ = ("dicts", "indices", "nested", "values")

    def __init__(self) -> None:
        self.indices: list[int] = []
        self.values: list[Any] = []
        self.nested: dict[Any, _Gathered] = {}
        self.dicts = 0


Gathering = dict[Any, _Gathered]


def gather(gathered: Gathering, info: Mapping[Any, Any], index: int) -> Gathering:
    """Adds the info of one member; replaces `VectorEnv._add_info`."""
    for key, value in info.items():
        column = gathered.get(key)
        if column is None:
            column = gathered[key] = _Gathered()
        column.indices.append(index)
        if is_dict(value) and key != "final_obs":
            gather(column.nested, value, index)
            column.dicts += 1
        column.values.append(value)
    return gathered


def columns(gathered: Gathering, num_envs: int) -> dict[Any, Any]:
    """Returns the infos as columns: each `key` is followed by `_key`, the mask of the members that have it."""
    infos: dict[Any, Any] = {}
    for key, column in gathered.items():
        mask = np.zeros(num_envs, np.bool_)
        mask[column.indices] = True
        nested = column.dicts == len(column.values)
        infos[key] = columns(column.nested, num_envs) if nested else _column(key, column, num_envs)
        infos[f"_{key}"] = mask
    return infos


def _column(key: Any, column: _Gathered, num_envs: int) -> npt.NDArray[Any]:
    first, values = column.values[0], column.values
    if key == "final_obs" or not is_numeric(first) or not _is_uniform(values):  # or some dicts
        objects = np.full(num_envs, None, dtype=object)
        for index, value in zip(column.indices, values, strict=True):
            objects[index] = value
        return objects
    array: npt.NDArray[Any] = np.zeros_like(
        first, shape=(num_envs, *getattr(first, "shape", ())), subok=False
    )
    array[column.indices] = values
    return array


def _is_uniform(values: list[Any]) -> bool:
    kinds: set[Any] = set(map(type, values))
    if kinds == {np.ndarray}:
        kinds = {(value.dtype, value.shape) for value in values}
    return len(kinds) == 1
