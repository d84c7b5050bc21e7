"""The infos of sessions: merged into those of one vector environment, with masks, or one dict for each environment.

A session sends columns of one type as arrays, and columns of several types as object arrays
(`envwire.server._hosting.vector_hosts`). As in a `SyncVectorEnv`, the first value determines a column's type.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from envwire.codec.values.foreign import is_foreign
from envwire.envs.type_guards import is_array, is_dict, is_tuple
from envwire.envs.vector.vector_env import add_info

Infos = dict[Any, Any]
#: The key of the observations with which episodes ended.
_FINAL = "final_obs"
#: Dtypes that most probably come from Python's own numbers.
_PYTHONS = frozenset(map(np.dtype, (bool, int, float)))


def join_infos(sizes: Sequence[int], infos: Sequence[Infos]) -> Infos:
    """Joins the infos of sessions with the given numbers of environments."""
    if not any(infos):
        return {}
    if len(sizes) == 1 and not _holds_raw(infos[0]):
        return infos[0]
    merged: Infos = {}
    stops: list[int] = np.cumsum(sizes).tolist()
    for stop, size, own in zip(stops, sizes, infos, strict=True):
        if own:
            _take(merged, own, stop - size, size, stops[-1])
    _leave_out_masks(merged, infos)
    return merged


def _leave_out_masks(merged: Infos, infos: Sequence[Infos]) -> None:
    """Removes the masks that no session sent: native vector environments, such as ALE's, have none."""
    for key, column in infos[0].items():
        if all(key in own and f"_{key}" not in own for own in infos):
            merged.pop(f"_{key}", None)
        if is_dict(column) and all(is_dict(own.get(key)) for own in infos):
            _leave_out_masks(merged[key], [own[key] for own in infos])


def _is_raw(column: Any) -> bool:
    """Returns whether a column is an object array, which holds values unchanged."""
    return is_array(column) and column.dtype == object and column.ndim == 1


def _holds_raw(infos: Infos) -> bool:
    return any(_is_raw(c) or (is_dict(c) and _holds_raw(c)) for c in infos.values())


def _columns(infos: Infos, size: int) -> Iterator[tuple[Any, Any, npt.NDArray[np.bool_]]]:
    """Yields key, column and mask; a native vector environment may leave masks out."""
    masks = {f"_{key}" for key in infos}
    everybody = np.ones(size, np.bool_)
    for key, column in infos.items():
        if key not in masks:
            yield key, column, infos.get(f"_{key}", everybody)


def rows(infos: Infos, size: int) -> list[Infos]:
    """Returns the info of each environment.

    Args:
        infos: Columns: each `key` with `_key`, the mask of the environments that have it.
        size: Number of environments.
    """
    taken: list[Infos] = [{} for _ in range(size)]
    for key, column, mask in _columns(infos, size):
        values = rows(column, size) if is_dict(column) else _values(column)
        for index in np.flatnonzero(mask).tolist():
            taken[index][key] = values[index]
    return taken


def _values(column: Any) -> Any:
    """Returns a column as the values that its environments gave: numbers of Python's as such."""
    if is_array(column) and column.ndim == 1 and column.dtype in _PYTHONS:
        return column.tolist()
    return column


def _take(merged: Infos, infos: Infos, start: int, size: int, num_envs: int) -> None:
    for key, column, mask in _columns(infos, size):
        name = f"_{key}"
        if _is_on_device(column) or _is_on_device(mask):  # one session has all of them
            merged[key] = column
            if name in infos:
                merged[name] = mask
            continue
        masks = merged.get(name)  # raises what a `SyncVectorEnv` does for a dict where an array is
        if key == _FINAL and not _is_raw(column):
            merged[key] = _with_batch(merged.get(key), column, start, size, num_envs)
        elif is_dict(column):
            _take(merged.setdefault(key, {}), column, start, size, num_envs)
        elif _is_raw(column) or not _put_array(merged, key, np.asarray(column), start, num_envs):
            values = _values(np.asarray(column))
            for index in np.flatnonzero(mask).tolist():
                add_info(merged, {key: values[index]}, start + index, num_envs)
        if masks is None:
            masks = merged[name] = np.zeros(num_envs, np.bool_)
        masks[start : start + size] = mask


def _with_batch(whole: Any, part: Any, start: int, size: int, num_envs: int) -> Any:
    """Returns a batch of observations into which the part is written that a native vector environment sent.

    Args:
        whole: The batch; None if no other session sent a part.
        part: The observations of one session, in dictionaries and tuples as their space has them.
        start: Number of the session's first environment.
        size: How many it has.
        num_envs: Environments of all sessions.
    """
    if size == num_envs:
        return part
    rest = start, size, num_envs
    if is_dict(part):
        return {key: _with_batch(whole and whole[key], each, *rest) for key, each in part.items()}
    if is_tuple(part):
        wholes = whole or [None] * len(part)
        return tuple(_with_batch(*both, *rest) for both in zip(wholes, part, strict=True))
    array = np.asarray(part)
    if whole is None:
        whole = np.zeros((num_envs, *array.shape[1:]), array.dtype)
    whole[start : start + size] = array
    return whole


def _is_on_device(column: object) -> bool:
    """Returns whether a column is an array of another library, as those on a device are."""
    kind: type[Any] = type(column)
    return is_foreign(kind)


def _put_array(
    merged: Infos, key: Any, column: npt.NDArray[Any], start: int, num_envs: int
) -> bool:
    """Writes a column of one type; returns False if the batch has another, so that values are added one by one."""
    if key not in merged:
        merged[key] = np.zeros((num_envs, *column.shape[1:]), column.dtype)
    whole: Any = merged[key]
    if not is_array(whole) or (whole.dtype, whole.shape[1:]) != (column.dtype, column.shape[1:]):
        return False
    whole[start : start + len(column)] = column
    return True
