"""Detects results of two calls that share memory, so that the second call overwrites the first."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from envwire.envs.type_guards import is_array, is_dict, is_tuple
from envwire.envs.utils.reporting import warn_unless

if TYPE_CHECKING:
    from collections.abc import Iterator


def data_shares_objects(data_1: Any, data_2: Any) -> bool:
    """Whether two observations (or infos, actions) share a mutable object or array memory.

    Immutable values are often shared and never count; objects of unknown types are ignored.
    """
    if type(data_1) is not type(data_2):
        return False
    if is_array(data_1) and data_1.dtype != object:
        return bool(np.shares_memory(data_1, data_2))
    if isinstance(data_1, dict | np.ndarray) and data_1 is data_2:
        return True
    return any(data_shares_objects(a, b) for a, b in _paired_items(data_1, data_2))


def _paired_items(data_1: Any, data_2: Any) -> Iterator[tuple[Any, Any]]:
    if is_dict(data_1):
        yield from ((data_1[key], data_2[key]) for key in data_1.keys() & data_2.keys())
    elif is_array(data_1):
        yield from zip(data_1.ravel(), data_2.ravel(), strict=False)
    elif is_tuple(data_1):
        yield from zip(data_1, data_2, strict=False)


def env_data_reuse_passive_checker(
    previous_data: tuple[Any, dict[str, Any]],
    data: tuple[Any, dict[str, Any]],
    previous_source: str,
    source: str,
) -> None:
    """Warns if two calls returned the same objects: the second call overwrites the first result.

    Args:
        previous_data: The observation and info of a call.
        data: Those of the call after it.
        previous_source: The name of the first call.
        source: The name of the second.
    """
    for what, before, after in zip(("observation", "info"), previous_data, data, strict=True):
        warn_unless(
            not data_shares_objects(before, after),
            f"The {what}s returned by `{previous_source}` and the following `{source}` share "
            "an object, so that the later call overwrites what the earlier one returned. "
            f"Return a new {what} from every call.",
        )
