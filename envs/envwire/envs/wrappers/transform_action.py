"""Wrappers that change an action by a function of that action alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from envwire.envs._env import ActType, ObsType, WrapperActType
from envwire.envs.core import ActionWrapper, Env, Wrapper
from envwire.envs.error import InvalidBound
from envwire.envs.spaces import Box, Space
from envwire.envs.utils.record_constructor import RecordConstructorArgs
from envwire.envs.wrappers.wrapped_spaces import BinGrid, Bound, require_box, rescale_box

__all__ = ["ClipAction", "DiscretizeAction", "RescaleAction", "TransformAction"]


class TransformAction(ActionWrapper[ObsType, WrapperActType, ActType], RecordConstructorArgs):
    """Steps with ``func(action)``.

    Args:
        env: The environment to wrap.
        func: Maps actions of ``action_space`` to actions of the wrapped environment.
        action_space: The space that agents choose from; ``None`` for the wrapped environment's.
    """

    def __init__(
        self,
        env: Env[ObsType, ActType],
        func: Callable[[WrapperActType], ActType],
        action_space: Space[WrapperActType] | None,
    ) -> None:
        RecordConstructorArgs.__init__(self, func=func, action_space=action_space)
        Wrapper.__init__(self, env)
        if action_space is not None:
            self.action_space = action_space
        self.func = func

    def action(self, action: WrapperActType) -> ActType:
        """Returns ``func(action)``."""
        return self.func(action)


class ClipAction(TransformAction["ObsType", "NDArray[Any]", "NDArray[Any]"]):
    """Accepts any action and clips it to the wrapped environment's Box.

    Raises:
        TypeError: The action space is not a Box.
    """

    def __init__(self, env: Env[ObsType, NDArray[Any]]) -> None:
        box = require_box(env.action_space, self)
        RecordConstructorArgs.__init__(self)
        TransformAction.__init__(
            self,
            env,
            func=lambda action: np.asarray(action).clip(box.low, box.high),
            action_space=Box(-np.inf, np.inf, shape=box.shape, dtype=box.dtype),
        )


class RescaleAction(TransformAction["ObsType", "NDArray[Any]", "NDArray[Any]"]):
    """Maps actions in [min_action, max_action] linearly onto the wrapped environment's Box.

    Where the Box is unbounded, the new bound must be the same infinity.

    Args:
        env: The environment to wrap.
        min_action: The new lower bound, a number or an array of the Box's shape.
        max_action: The new upper bound.

    Raises:
        TypeError: The action space is not a Box, or a bound is not a number.
        ValueError: A bound does not fit the Box's shape or its infinities.
        InvalidBound: The bounds are equal somewhere, so that there is nothing to map back.
    """

    def __init__(
        self, env: Env[ObsType, NDArray[Any]], min_action: Bound, max_action: Bound
    ) -> None:
        box = require_box(env.action_space, self)
        RecordConstructorArgs.__init__(self, min_action=min_action, max_action=max_action)
        space, _, to_env = rescale_box(box, min_action, max_action)
        if np.any(space.low == space.high):
            raise InvalidBound(
                f"min_action ({min_action}) must be below max_action ({max_action}) everywhere"
            )
        TransformAction.__init__(self, env, func=to_env, action_space=space)


class DiscretizeAction(ActionWrapper[ObsType, "Any", "NDArray[Any]"], RecordConstructorArgs):
    """Cuts a bounded Box of actions into bins; an action is the number of a bin.

    Args:
        env: The environment to wrap.
        bins: The number of bins, for every dimension or one for each.
        multidiscrete: Whether an action is a number per dimension (`MultiDiscrete`) instead of one
            number for the cell of the grid (`Discrete`, the last dimension fastest).

    Raises:
        TypeError: The action space is not a Box.
        ValueError: The Box is not bounded, or ``bins`` has the wrong length.
    """

    def __init__(
        self,
        env: Env[ObsType, NDArray[Any]],
        bins: int | tuple[int, ...],
        multidiscrete: bool = False,
    ) -> None:
        self._box = require_box(env.action_space, self)
        self.grid = BinGrid(self._box, bins)
        RecordConstructorArgs.__init__(self, bins=bins, multidiscrete=multidiscrete)
        Wrapper.__init__(self, env)
        self.multidiscrete = multidiscrete
        self.bins = self.grid.bins
        self.bin_centers = [0.5 * (edges[:-1] + edges[1:]) for edges in self.grid.edges]
        self.action_space = self.grid.space(multidiscrete)

    def action(self, action: Any) -> NDArray[Any]:
        """Returns the middle of the bin."""
        cell = np.asarray(action, dtype=int) if self.multidiscrete else self.grid.cell(action)
        numbers = np.minimum(np.maximum(cell, 0), self.bins - 1)
        middle = [centers[n] for centers, n in zip(self.bin_centers, numbers, strict=True)]
        return np.reshape(np.array(middle, dtype=self._box.dtype), self._box.shape)

    def revert_action(self, action: NDArray[Any]) -> Any:
        """Returns the action whose bin's middle is nearest to the wrapped environment's action."""
        values = np.ravel(action)
        nearest = [
            int(np.argmin(np.abs(centers - value)))
            for centers, value in zip(self.bin_centers, values, strict=True)
        ]
        return np.array(nearest, dtype=int) if self.multidiscrete else self.grid.number(nearest)
