"""Converts the columns of a session's infos into one dict for each environment."""

from __future__ import annotations

from typing import Any

import numpy as np

from envwire.client._vector.batching.infos import PYTHONS, Infos, columns
from envwire.envs.type_guards import is_array, is_dict


def rows(infos: Infos, size: int) -> list[Infos]:
    """Returns the info of each environment.

    Args:
        infos: Columns: each `key` with `_key`, the mask of the environments that have it.
        size: Number of environments.
    """
    taken: list[Infos] = [{} for _ in range(size)]
    for key, column, mask in columns(infos, size):
        values = _values(column, size)
        for index in np.flatnonzero(mask).tolist():
            taken[index][key] = values[index]
    return taken


def _values(column: Any, size: int) -> Any:
    if is_dict(column):
        return rows(column, size)
    if is_array(column) and column.ndim == 1 and column.dtype in PYTHONS:
        return column.tolist()
    return column
