"""Merges the infos of sessions into those of one vector environment, with masks.

A session sends columns of one type as arrays, and columns of several types as object arrays
(`envwire.server._hosting.vector.columns`). As in a `SyncVectorEnv`, the first value determines a column's type.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from envwire.envs.type_guards import is_array, is_dict
from envwire.envs.vector.info import add_info

Infos = dict[Any, Any]
_NUMBERS = (bool, int, float)
#: Dtypes that most probably come from Python's own numbers.
PYTHONS = frozenset(map(np.dtype, _NUMBERS))


def merge_infos(parts: Iterable[tuple[int, int, Infos]], num_envs: int) -> Infos:
    """Merges the infos of several sessions.

    Args:
        parts: For each session, its start in the batch, its number of environments, and its infos.
        num_envs: Number of environments in the batch.
    """
    merged: Infos = {}
    for start, size, infos in parts:
        if infos:
            _take(merged, infos, start, size, num_envs)
    return merged


def join_infos(sizes: Sequence[int], infos: Sequence[Infos]) -> Infos:
    """Joins the infos of sessions with the given numbers of environments."""
    if not any(infos):
        return {}
    if len(sizes) == 1 and not any(_is_raw(c) or is_dict(c) for c in infos[0].values()):
        return infos[0]
    starts = [0, *np.cumsum(sizes).tolist()]
    return merge_infos(zip(starts, sizes, infos, strict=False), starts[-1])


def _is_raw(column: Any) -> bool:
    """Returns whether a column is an object array, which holds values unchanged."""
    return is_array(column) and column.dtype == object and column.ndim == 1


def columns(infos: Infos, size: int) -> Iterator[tuple[Any, Any, npt.NDArray[np.bool_]]]:
    """Yields key, column and mask; a native vector environment may leave masks out."""
    masks = {f"_{key}" for key in infos}
    everybody = np.ones(size, np.bool_)
    for key, column in infos.items():
        if key not in masks:
            yield key, column, infos.get(f"_{key}", everybody)


def _take(merged: Infos, infos: Infos, start: int, size: int, num_envs: int) -> None:
    for key, column, mask in columns(infos, size):
        name = f"_{key}"
        masks = merged.get(name)  # raises what a `SyncVectorEnv` does for a dict where an array is
        if is_dict(column):
            _take(merged.setdefault(key, {}), column, start, size, num_envs)
        elif _is_raw(column):
            _put_values(merged, key, column, mask, start, num_envs)
        else:
            _put_array(merged, key, np.asarray(column), mask, start, num_envs)
        if masks is None:
            masks = merged[name] = np.zeros(num_envs, np.bool_)
        masks[start : start + size] = mask


def _put_values(
    merged: Infos,
    key: Any,
    column: npt.NDArray[Any],
    mask: npt.NDArray[np.bool_],
    start: int,
    num_envs: int,
) -> None:
    """Writes values one by one, as a `SyncVectorEnv` does."""
    for index in np.flatnonzero(mask).tolist():
        add_info(merged, {key: column[index]}, start + index, num_envs)


def _put_array(
    merged: Infos,
    key: Any,
    column: npt.NDArray[Any],
    mask: npt.NDArray[np.bool_],
    start: int,
    num_envs: int,
) -> None:
    """Writes a column of one type: at once if the batch has that type, else one by one."""
    if key not in merged:
        merged[key] = np.zeros((num_envs, *column.shape[1:]), column.dtype)
    whole: Any = merged[key]
    if is_array(whole) and whole.dtype == column.dtype and whole.shape[1:] == column.shape[1:]:
        whole[start : start + len(column)] = column
        return
    numbers = column.dtype in PYTHONS and column.ndim == 1
    values = column.astype(object) if numbers else column
    _put_values(merged, key, values, mask, start, num_envs)
