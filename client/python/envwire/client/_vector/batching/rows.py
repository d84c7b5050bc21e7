"""Converts the columns of a session's infos into one dict for each environment."""

from __future__ import annotations

from typing import Any

import numpy as np

from envwire.client._vector.batching.infos import PYTHONS, Infos
from envwire.envs.type_guards import is_array, is_dict


def rows(infos: Infos, size: int) -> list[Infos]:
    """Returns the info of each environment.

    Args:
        infos: Columns: each `key` with `_key`, the mask of the environments that have it.
        size: Number of environments.
    """
    taken: list[Infos] = [{} for _ in range(size)]
    masks = {f"_{key}" for key in infos}
    for key, column in infos.items():
        if key in masks:
            continue
        values = _values(column, size)
        mask = infos.get(f"_{key}")
        for index in range(size) if mask is None else np.flatnonzero(mask).tolist():
            taken[index][key] = values[index]
    return taken


def _values(column: Any, size: int) -> Any:
    if is_dict(column):
        return rows(column, size)
    if is_array(column) and column.ndim == 1 and column.dtype in PYTHONS:
        return column.tolist()
    return column
