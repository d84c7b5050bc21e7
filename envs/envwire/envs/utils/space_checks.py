"""Checks of declared spaces, and of observations against them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial, singledispatch
from typing import Any

import numpy as np

from envwire.envs import spaces
from envwire.envs.logger import require, warn_unless
from envwire.envs.type_guards import is_array


def check_space(
    space: Any, space_type: str, check_box_space_fn: Callable[[spaces.Box], None]
) -> None:
    """Checks one declared space and everything in it.

    Args:
        space: The declared space.
        space_type: ``"observation"`` or ``"action"``; becomes part of the path in messages.
        check_box_space_fn: Checks each Box.

    Raises:
        TypeError: This is not a space.
        AssertionError: The space is empty or inconsistent.
    """
    _check_leaves(space, f"{space_type}_space", lambda box, _: check_box_space_fn(box))


def _check_leaves(space: Any, path: str, check_box: Callable[[spaces.Box, str], None]) -> None:
    for where, leaf in _leaves(space, path):
        if not isinstance(leaf, spaces.Space):
            raise TypeError(f"{where} must be a Space of envwire.envs.spaces, got {type(leaf)}")
        if isinstance(leaf, spaces.Box):
            check_box(leaf, where)
        else:
            _check_leaf(leaf, where)


def _leaves(space: Any, path: str) -> Iterator[tuple[str, Any]]:
    if not isinstance(space, spaces.Tuple | spaces.Dict):
        yield path, space
        return
    children = space.spaces if isinstance(space, spaces.Dict) else dict(enumerate(space.spaces))
    require(children, f"{path} is an empty {type(space).__name__}: it has nothing to choose")
    for key, child in children.items():
        yield from _leaves(child, f"{path}[{key!r}]")


@singledispatch
def _check_leaf(space: Any, path: str) -> None:
    """Requires that a leaf space is consistent and not empty; other kinds check themselves."""


@_check_leaf.register
def _(space: spaces.Discrete, path: str) -> None:
    require(space.n > 0, f"{path}: a Discrete space needs n > 0, got {space.n}")
    require(space.shape == (), f"{path}: a Discrete space has shape (), got {space.shape}")


@_check_leaf.register
def _(space: spaces.MultiDiscrete, path: str) -> None:
    shapes = f"shape {space.shape}, shape of nvec {space.nvec.shape}"
    require(space.shape == space.nvec.shape, f"{path}: MultiDiscrete contradicts itself: {shapes}")
    require(np.all(space.nvec > 0), f"{path}: every count of nvec must be > 0, got {space.nvec}")


@_check_leaf.register
def _(space: spaces.MultiBinary, path: str) -> None:
    require(np.all(np.asarray(space.shape) > 0), f"{path}: no axis may be empty: {space.shape}")


def _check_box(space: spaces.Box, path: str) -> None:
    for name in ("low", "high"):
        shape = getattr(space, name).shape
        require(shape == space.shape, f"{path}: Box shape {space.shape}, but {name} has {shape}")
    warn_unless(
        not np.any(space.low == space.high),
        f"{path}: A Box space's maximum and minimum values are equal in places.",
    )


def _check_observation_box(space: spaces.Box, path: str) -> None:
    _check_box(space, path)
    warn_unless(
        not np.any(space.high < space.low),
        f"{path}: A Box space's low value is greater than its high value in places.",
    )


check_observation_space = partial(
    _check_leaves, path="observation_space", check_box=_check_observation_box
)
check_action_space = partial(_check_leaves, path="action_space", check_box=_check_box)


def check_obs(obs: Any, observation_space: spaces.Space[Any], method_name: str) -> None:
    """Checks that an observation is in its space, by type and value.

    Raises:
        AssertionError: A Dict or Tuple observation has other keys or another length.
    """
    _check_type(observation_space, obs, f"The obs returned by the `{method_name}()` method")


def _check_type(space: spaces.Space[Any], obs: Any, pre: str) -> None:
    _check_observation(space, obs, pre)
    try:
        warn_unless(obs in space, f"{pre} is not within the observation space.")
    except Exception as exc:  # a user's space may raise anything
        warn_unless(False, f"{pre} is not within the observation space with exception: {exc}")


@singledispatch
def _check_observation(space: Any, obs: Any, pre: str) -> None:
    """Warns if the observation's type differs from that of the space's samples."""


@_check_observation.register
def _(space: spaces.Discrete, obs: Any, pre: str) -> None:
    fits = isinstance(obs, int | np.int64 | space.dtype.type)
    warn_unless(fits, f"{pre} should be an int or np.int64, actual type: {type(obs)}")


@_check_observation.register
def _(space: spaces.Box, obs: Any, pre: str) -> None:
    if space.shape == ():
        return
    if not is_array(obs):
        warn_unless(False, f"{pre} was expecting a numpy array, actual type: {type(obs)}")
        return
    warn_unless(
        obs.dtype == space.dtype,
        f"{pre} was expecting numpy array dtype to be {space.dtype}, actual type: {obs.dtype}",
    )


@_check_observation.register(spaces.MultiBinary)
@_check_observation.register(spaces.MultiDiscrete)
def _(space: Any, obs: Any, pre: str) -> None:  # noqa: ARG001 - the dispatcher's signature
    fits = is_array(obs)
    warn_unless(fits, f"{pre} was expecting a numpy array, actual type: {type(obs)}")


@_check_observation.register
def _(space: spaces.Tuple, obs: Any, pre: str) -> None:
    warn_unless(isinstance(obs, tuple), f"{pre} was expecting a tuple, actual type: {type(obs)}")
    sizes = f"obs length: {len(obs)}, space length: {len(space.spaces)}"
    require(len(obs) == len(space.spaces), f"{pre} has another length than its space, {sizes}")
    for index, (part, child) in enumerate(zip(obs, space.spaces, strict=True)):
        _check_type(child, part, f"{pre}, at [{index}],")


@_check_observation.register
def _(space: spaces.Dict, obs: Any, pre: str) -> None:
    require(isinstance(obs, dict), f"{pre} must be a dict, actual type: {type(obs)}")
    keys = f"obs keys: {list(obs)}, space keys: {list(space.spaces)}"
    require(obs.keys() == space.spaces.keys(), f"{pre} has other keys than its space, {keys}")
    for key, child in space.spaces.items():
        _check_type(child, obs[key], f"{pre}, at [{key!r}],")
