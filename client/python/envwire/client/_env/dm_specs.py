"""Converts spaces to dm_env specs: arrays, nested in dicts and tuples."""

from __future__ import annotations

from functools import singledispatch
from importlib import import_module
from typing import Any

import numpy as np

from envwire.envs import spaces

#: Imported as Any: dm_env has no type hints.
_specs: Any = import_module("dm_env.specs")


@singledispatch
def spec_of(space: spaces.Space[Any], name: str) -> Any:
    """Returns the spec of a space.

    Raises:
        ValueError: dm_env has no spec for it.
    """
    raise ValueError(f"dm_env has no spec for the {name} space {space}; a wrapper can flatten it")


@spec_of.register
def _(space: spaces.Box, name: str) -> Any:
    return _specs.BoundedArray(space.shape, space.dtype, space.low, space.high, name)


@spec_of.register
def _(space: spaces.Discrete, name: str) -> Any:
    if space.start == 0:
        return _specs.DiscreteArray(int(space.n), np.int64, name)
    last = space.start + space.n - 1
    return _specs.BoundedArray((), np.int64, space.start, last, name)


@spec_of.register
def _(space: spaces.MultiDiscrete, name: str) -> Any:
    last = space.start + space.nvec - 1
    return _specs.BoundedArray(space.shape, space.dtype, space.start, last, name)


@spec_of.register
def _(space: spaces.MultiBinary, name: str) -> Any:
    return _specs.BoundedArray(space.shape, space.dtype, 0, 1, name)


@spec_of.register
def _(_space: spaces.Text, name: str) -> Any:
    return _specs.StringArray((), name=name)


@spec_of.register
def _(space: spaces.Dict, name: str) -> Any:
    return {key: spec_of(item, f"{name}/{key}") for key, item in space.spaces.items()}


@spec_of.register
def _(space: spaces.Tuple, name: str) -> Any:
    return tuple(spec_of(item, f"{name}/{index}") for index, item in enumerate(space.spaces))


@singledispatch
def action_for(_space: spaces.Space[Any], action: Any) -> Any:
    """Converts an action to the space's type: dm_env's agents return 0-d arrays for numbers and strings."""
    return action


@action_for.register
def _(_space: spaces.Discrete, action: Any) -> Any:
    return int(action)


@action_for.register
def _(_space: spaces.Text, action: Any) -> Any:
    return str(action)


@action_for.register
def _(space: spaces.Dict, action: Any) -> Any:
    return {key: action_for(item, action[key]) for key, item in space.spaces.items()}


@action_for.register
def _(space: spaces.Tuple, action: Any) -> Any:
    return tuple(action_for(item, each) for item, each in zip(space.spaces, action, strict=True))
