"""Converts step results between the API before 0.26 (``done``) and after it (two flags).

In the old form ``info["TimeLimit.truncated"]`` distinguishes truncation from termination.
"""

from __future__ import annotations

from typing import Any, TypeAlias, cast

import numpy as np

_Step: TypeAlias = tuple[Any, ...]
_TRUNCATED = "TimeLimit.truncated"


def convert_to_terminated_truncated_step_api(
    step_returns: _Step, is_vector_env: bool = False
) -> _Step:
    """Returns (obs, reward, terminated, truncated, info) for a step result of either form.

    Args:
        step_returns: The result of `step`.
        is_vector_env: Whether it is a batch; its infos are a dict of columns or a list of dicts.

    Raises:
        AssertionError: The result has neither four nor five elements.
        TypeError: The infos of a batch are neither a dict nor a list.
    """
    if len(step_returns) == 5:
        return step_returns
    observations, rewards, dones, infos = _require_length(step_returns, 4)
    if not is_vector_env:
        truncated = infos.pop(_TRUNCATED, False)
        return observations, rewards, dones and not truncated, dones and truncated, infos
    truncated = _pop_truncated(infos, len(dones))
    terminations = np.logical_and(dones, np.logical_not(truncated))
    return observations, rewards, terminations, np.logical_and(dones, truncated), infos


def _require_length(step_returns: _Step, length: int) -> _Step:
    if len(step_returns) != length:
        raise AssertionError(f"A step returns 4 or 5 elements, got {len(step_returns)}")
    return step_returns


def _pop_truncated(infos: Any, num_envs: int) -> Any:
    if isinstance(infos, list):
        each = cast("list[dict[str, Any]]", infos)
        return np.array([info.pop(_TRUNCATED, False) for info in each])
    return _require_dict(infos).pop(_TRUNCATED, np.zeros(num_envs, dtype=np.bool_))


def _require_dict(infos: Any) -> dict[str, Any]:
    if not isinstance(infos, dict):
        raise TypeError(f"The infos of a vector step are a dict or a list, got {type(infos)}")
    return cast("dict[str, Any]", infos)


def convert_to_done_step_api(step_returns: _Step, is_vector_env: bool = False) -> _Step:
    """Returns (obs, reward, done, info) for a step result of either form; see its inverse."""
    if len(step_returns) == 4:
        return step_returns
    observations, rewards, terminated, truncated, infos = _require_length(step_returns, 5)
    if not is_vector_env:
        if terminated or truncated:
            infos[_TRUNCATED] = truncated and not terminated
        return observations, rewards, terminated or truncated, infos
    _put_truncated(infos, terminated, truncated)
    return observations, rewards, np.logical_or(terminated, truncated), infos


def _put_truncated(infos: Any, terminated: Any, truncated: Any) -> None:
    if not isinstance(infos, list):
        columns = _require_dict(infos)
        if np.any(terminated) or np.any(truncated):
            columns[_TRUNCATED] = np.logical_and(truncated, np.logical_not(terminated))
        return
    each = cast("list[dict[str, Any]]", infos)
    for info, ended, cut in zip(each, terminated, truncated, strict=True):
        if ended or cut:
            info[_TRUNCATED] = cut and not ended


def step_api_compatibility(
    step_returns: _Step, output_truncation_bool: bool = True, is_vector_env: bool = False
) -> _Step:
    """Converts a step result to the five-element form, or to the four-element one.

    Args:
        step_returns: The result of `step`, in either form.
        output_truncation_bool: Whether to return the five-element form.
        is_vector_env: Whether it is a batch.
    """
    if output_truncation_bool:
        return convert_to_terminated_truncated_step_api(step_returns, is_vector_env)
    return convert_to_done_step_api(step_returns, is_vector_env)
