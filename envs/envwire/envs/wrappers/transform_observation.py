"""Wrappers that change an observation by a function of that observation alone.

A spec names a wrapper by its module, so each class is in the module where Gymnasium has it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from envwire.envs import spaces
from envwire.envs._env import ActType, Array, ObsType, WrapperObsType
from envwire.envs.core import Env, ObservationWrapper, Wrapper
from envwire.envs.spaces.utils import flatten, flatten_space
from envwire.envs.type_guards import is_integer, is_tuple
from envwire.envs.utils.record_constructor import RecordConstructorArgs
from envwire.envs.wrappers import wrapped_spaces
from envwire.envs.wrappers.wrapped_spaces import BinGrid, Bound, require_box, rescale_box

__all__ = [
    "AddRenderObservation",
    "DiscretizeObservation",
    "DtypeObservation",
    "FilterObservation",
    "FlattenObservation",
    "GrayscaleObservation",
    "RescaleObservation",
    "ReshapeObservation",
    "TransformObservation",
]

#: Weights of red, green and blue in perceived brightness.
_LUMINANCE = np.array([0.2125, 0.7154, 0.0721])


class TransformObservation(
    ObservationWrapper[WrapperObsType, ActType, ObsType], RecordConstructorArgs
):
    """Replaces each observation by ``func(observation)``.

    Args:
        env: The environment to wrap.
        func: Maps the wrapped environment's observations to elements of ``observation_space``.
        observation_space: The new space; ``None`` for the wrapped environment's.
    """

    def __init__(
        self,
        env: Env[ObsType, ActType],
        func: Callable[[ObsType], Any],
        observation_space: spaces.Space[WrapperObsType] | None,
    ) -> None:
        RecordConstructorArgs.__init__(self, func=func, observation_space=observation_space)
        Wrapper.__init__(self, env)
        if observation_space is not None:
            self.observation_space = observation_space
        self.func = func

    def observation(self, observation: ObsType) -> Any:
        """Returns ``func(observation)``."""
        return self.func(observation)


class FilterObservation(TransformObservation["Any", ActType, "Any"]):
    """Keeps some entries of a Dict or Tuple observation, in the given order.

    Args:
        env: The environment to wrap.
        filter_keys: The keys of the Dict, or the indices of the Tuple, to keep.

    Raises:
        TypeError: The keys are not a sequence, or of the wrong type for the space.
        ValueError: A key is not in the space or occurs twice, none is left, or the space is
            neither a Dict nor a Tuple.
    """

    def __init__(self, env: Env[Any, ActType], filter_keys: Sequence[str | int]) -> None:
        if not isinstance(filter_keys, Sequence):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError(f"filter_keys must be a sequence, got {type(filter_keys)}")
        RecordConstructorArgs.__init__(self, filter_keys=filter_keys)
        space = env.observation_space
        if isinstance(space, spaces.Dict):
            kept, func = wrapped_spaces.filter_dict(space, filter_keys)
        elif isinstance(space, spaces.Tuple):
            kept, func = wrapped_spaces.filter_tuple(space, filter_keys)
        else:
            raise ValueError(f"FilterObservation needs a Dict or a Tuple, got {space}")
        TransformObservation.__init__(self, env, func, kept)
        self.filter_keys = filter_keys


class FlattenObservation(TransformObservation["Any", ActType, "Any"]):
    """Flattens observations to a Box of one dimension (a Sequence or Graph keeps its structure)."""

    def __init__(self, env: Env[Any, ActType]) -> None:
        RecordConstructorArgs.__init__(self)
        space = env.observation_space
        TransformObservation.__init__(
            self, env, lambda observation: flatten(space, observation), flatten_space(space)
        )


class GrayscaleObservation(TransformObservation["Array", ActType, "Array"]):
    """Turns RGB images into brightness.

    Args:
        env: The environment to wrap; observations are uint8 of shape (height, width, 3).
        keep_dim: Whether the shape becomes (height, width, 1) instead of (height, width).

    Raises:
        TypeError: The observation space is not a Box.
        ValueError: It is not a Box of such images, from 0 to 255.
    """

    def __init__(self, env: Env[Array, ActType], keep_dim: bool = False) -> None:
        box = require_box(env.observation_space, self)
        if len(box.shape) != 3 or box.shape[-1] != 3:
            raise ValueError(f"GrayscaleObservation needs images of 3 channels, got {box.shape}")
        if box.dtype != np.uint8 or np.any(box.low != 0) or np.any(box.high != 255):
            raise ValueError(f"GrayscaleObservation needs uint8 from 0 to 255, got {box}")
        RecordConstructorArgs.__init__(self, keep_dim=keep_dim)
        self.keep_dim = keep_dim
        shape = (*box.shape[:2], 1) if keep_dim else box.shape[:2]
        TransformObservation.__init__(
            self,
            env,
            lambda image: np.reshape(np.sum(image * _LUMINANCE, axis=-1), shape).astype(np.uint8),
            spaces.Box(0, 255, shape=shape, dtype=np.uint8),
        )


class ReshapeObservation(TransformObservation["Array", ActType, "Array"]):
    """Gives array observations another shape of the same size.

    Args:
        env: The environment to wrap.
        shape: The new shape.

    Raises:
        TypeError: The observation space is not a Box, or ``shape`` is not a tuple of integers.
        ValueError: The sizes differ.
    """

    def __init__(self, env: Env[Array, ActType], shape: tuple[int, ...]) -> None:
        box = require_box(env.observation_space, self)
        if np.prod(shape) != np.prod(box.shape):
            raise ValueError(f"The shape {shape} has another size than {box.shape}")
        if not is_tuple(shape) or not all(map(is_integer, shape)):
            raise TypeError(f"shape must be a tuple of integers, got {shape!r}")
        if not all(length > 0 for length in shape):
            raise ValueError(f"The lengths of shape must be positive, got {shape}")
        RecordConstructorArgs.__init__(self, shape=shape)
        self.shape = shape
        low, high = np.reshape(box.low, shape), np.reshape(box.high, shape)
        TransformObservation.__init__(
            self,
            env,
            lambda observation: np.reshape(observation, shape),
            spaces.Box(low, high, shape=shape, dtype=box.dtype),
        )


class RescaleObservation(TransformObservation["Array", ActType, "Array"]):
    """Maps observations linearly onto [min_obs, max_obs].

    Where the Box is unbounded, the new bound must be the same infinity.

    Args:
        env: The environment to wrap.
        min_obs: The new lower bound, a number or an array of the Box's shape.
        max_obs: The new upper bound.

    Raises:
        TypeError: The observation space is not a Box, or a bound is not a number.
        ValueError: A bound does not fit the Box's shape or its infinities, or they are in the
            wrong order.
    """

    def __init__(self, env: Env[Array, ActType], min_obs: Bound, max_obs: Bound) -> None:
        box = require_box(env.observation_space, self)
        RecordConstructorArgs.__init__(self, min_obs=min_obs, max_obs=max_obs)
        space, from_env, _ = rescale_box(box, min_obs, max_obs)
        TransformObservation.__init__(self, env, from_env, space)


class DtypeObservation(TransformObservation["Any", ActType, "Any"]):
    """Converts observations to another dtype.

    Args:
        env: The environment to wrap; Box, Discrete, MultiDiscrete or MultiBinary observations.
        dtype: The new dtype.

    Raises:
        TypeError: The observation space is another kind.
    """

    def __init__(self, env: Env[Any, ActType], dtype: DTypeLike) -> None:
        space = wrapped_spaces.with_dtype(env.observation_space, dtype)
        RecordConstructorArgs.__init__(self, dtype=dtype)
        self.dtype = dtype
        convert: Callable[[Any], Any] = np.dtype(dtype).type
        TransformObservation.__init__(self, env, convert, space)


class AddRenderObservation(TransformObservation["Any", ActType, "Any"]):
    """Shows the rendered frame, instead of the observation or beside it. Resets the environment.

    Args:
        env: The environment to wrap, in a render mode that gives arrays.
        render_only: Whether the frame replaces the observation.
        render_key: The frame's key beside the observation.
        obs_key: The observation's key, unless it is a Dict, to which the frame is then added.

    Raises:
        ValueError: The environment does not render, or has an entry ``render_key`` already.
        TypeError: It renders no arrays.
    """

    def __init__(
        self,
        env: Env[Any, ActType],
        render_only: bool = True,
        render_key: str = "pixels",
        obs_key: str = "state",
    ) -> None:
        RecordConstructorArgs.__init__(
            self, render_only=render_only, render_key=render_key, obs_key=obs_key
        )
        self._keys = obs_key, render_key
        pixels, space = wrapped_spaces.pixel_space(env), env.observation_space
        if render_only:
            TransformObservation.__init__(self, env, self._frame, pixels)
        elif isinstance(space, spaces.Dict):
            if render_key in space.spaces:
                raise ValueError(f"The observation space already has a {render_key!r}: {space}")
            both = spaces.Dict({render_key: pixels, **space.spaces}, sort_keys=space.sort_keys)
            TransformObservation.__init__(self, env, self._frame_among, both)
        else:
            both = spaces.Dict({obs_key: space, render_key: pixels})
            TransformObservation.__init__(self, env, self._frame_beside, both)

    def _frame(self, observation: Any) -> Any:
        del observation
        return self.render()

    def _frame_among(self, observation: dict[str, Any]) -> dict[str, Any]:
        return {self._keys[1]: self.render(), **observation}

    def _frame_beside(self, observation: Any) -> dict[str, Any]:
        return {self._keys[0]: observation, self._keys[1]: self.render()}


class DiscretizeObservation(ObservationWrapper["Any", ActType, "Array"], RecordConstructorArgs):
    """Cuts a bounded Box of observations into bins, and shows the number of the bin.

    Args:
        env: The environment to wrap.
        bins: The number of bins, for every dimension or one for each.
        multidiscrete: Whether an observation is a number per dimension (`MultiDiscrete`) instead of
            one number for the cell of the grid (`Discrete`, the last dimension fastest).

    Raises:
        TypeError: The observation space is not a Box.
        ValueError: The Box is not bounded, or ``bins`` has the wrong length.
    """

    def __init__(
        self, env: Env[Array, ActType], bins: int | tuple[int, ...], multidiscrete: bool = False
    ) -> None:
        self._box = require_box(env.observation_space, self)
        self.grid = BinGrid(self._box, bins)
        RecordConstructorArgs.__init__(self, bins=bins, multidiscrete=multidiscrete)
        Wrapper.__init__(self, env)
        self.multidiscrete = multidiscrete
        self.bins = self.grid.bins
        self.bin_edges = [edges[1:-1] for edges in self.grid.edges]
        self.observation_space = self.grid.space(multidiscrete)

    def observation(self, observation: Array) -> Any:
        """Returns the number of the bin, or of the cell."""
        flat: Array = np.ravel(observation)
        values: Array = flat.clip(self.grid.low, self.grid.high - 1e-8)
        cell = [int(number) for number in map(np.digitize, values, self.bin_edges)]
        return np.array(cell) if self.multidiscrete else int(self.grid.number(cell))

    def revert_observation(self, obs: Any) -> tuple[Array, Array]:
        """Returns the lower and the upper corner of the cell, flat."""
        cell = np.asarray(obs, dtype=int) if self.multidiscrete else self.grid.cell(obs)
        edges = self.grid.edges
        lows = [edge[number] for edge, number in zip(edges, cell, strict=True)]
        highs = [edge[number + 1] for edge, number in zip(edges, cell, strict=True)]
        dtype = self._box.dtype
        return np.array(lows, dtype=dtype), np.array(highs, dtype=dtype)
