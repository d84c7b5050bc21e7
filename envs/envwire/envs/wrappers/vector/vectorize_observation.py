"""Vector wrappers that change observations by a function of those observations alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from numpy.typing import DTypeLike

from envwire.envs import logger
from envwire.envs._env import ActType, ArrayType, ObsType, WrapperObsType
from envwire.envs.core import Env
from envwire.envs.spaces import Space
from envwire.envs.spaces.batched_elements import iterate, stack
from envwire.envs.spaces.batched_spaces import batch_space
from envwire.envs.vector.vector_env import VectorEnv, VectorObservationWrapper, VectorWrapper
from envwire.envs.wrappers import transform_observation
from envwire.envs.wrappers.wrapped_spaces import Bound


class SingleEnv(Env[Any, Any]):
    """Has the spaces of one sub-environment of ``env``."""

    def __init__(self, env: Any) -> None:
        self.observation_space = env.single_observation_space
        self.action_space = env.single_action_space


def assign_spaces(
    wrapper: VectorWrapper[Any, Any, Any, Any, Any],
    kind: str,
    batched: Space[Any] | None,
    single: Space[Any] | None,
) -> None:
    """Sets the ``kind`` of spaces of a wrapper, and warns if the batch is not one of the single.

    Args:
        wrapper: The vector wrapper.
        kind: ``"action"`` or ``"observation"``.
        batched: The batched space; a batch of ``single`` if there is none.
        single: The space of one sub-environment; unchanged if there is none.
    """
    if single is not None:
        setattr(wrapper, f"single_{kind}_space", single)
        batched = batch_space(single, wrapper.num_envs) if batched is None else batched
    if batched is not None:
        setattr(wrapper, f"{kind}_space", batched)
    expected = batch_space(getattr(wrapper, f"single_{kind}_space"), wrapper.num_envs)
    actual = getattr(wrapper, f"{kind}_space")
    if actual != expected:
        logger.warn("%s", f"The {kind} space of {wrapper} is {actual}, not the batch {expected}")


__all__ = [
    "DtypeObservation",
    "FilterObservation",
    "FlattenObservation",
    "GrayscaleObservation",
    "RescaleObservation",
    "ReshapeObservation",
    "TransformObservation",
    "VectorizeTransformObservation",
]


class TransformObservation(VectorObservationWrapper[WrapperObsType, ActType, ObsType, ArrayType]):
    """Replaces observations by ``func(observations)``.

    Args:
        env: The vector environment to wrap.
        func: Maps batches of the wrapped environment to batches of ``observation_space``.
        observation_space: The new batched space.
        single_observation_space: The space of one sub-environment, of which it is a batch.
    """

    def __init__(
        self,
        env: VectorEnv[ObsType, ActType, ArrayType],
        func: Callable[[ObsType], WrapperObsType],
        observation_space: Space[Any] | None = None,
        single_observation_space: Space[Any] | None = None,
    ) -> None:
        super().__init__(env)
        assign_spaces(self, "observation", observation_space, single_observation_space)
        self.func = func

    def observations(self, observations: ObsType) -> WrapperObsType:
        """Returns ``func(observations)``."""
        return self.func(observations)


class VectorizeTransformObservation(VectorObservationWrapper["Any", ActType, "Any", ArrayType]):
    """Applies a wrapper for single environments to each observation.

    Args:
        env: The vector environment to wrap.
        wrapper: A `wrappers.TransformObservation` or a subclass.
        **kwargs: The arguments of the wrapper.
    """

    def __init__(
        self,
        env: VectorEnv[Any, ActType, ArrayType],
        wrapper: type[transform_observation.TransformObservation],
        **kwargs: Any,
    ) -> None:
        super().__init__(env)
        self.wrapper = wrapper(SingleEnv(env), **kwargs)
        self.single_observation_space = self.wrapper.observation_space
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)

    def observations(self, observations: Any) -> Any:
        """Returns a batch with each observation changed."""
        parts = iterate(self.env.observation_space, observations)
        return stack(self.single_observation_space, map(self.wrapper.func, parts))


class FilterObservation(VectorizeTransformObservation[ActType, ArrayType]):
    """Keeps some entries of Dict or Tuple observations; see `wrappers.FilterObservation`."""

    def __init__(
        self, env: VectorEnv[Any, ActType, ArrayType], filter_keys: Sequence[str | int]
    ) -> None:
        super().__init__(env, transform_observation.FilterObservation, filter_keys=filter_keys)


class FlattenObservation(VectorizeTransformObservation[ActType, ArrayType]):
    """Flattens each observation; see `wrappers.FlattenObservation`."""

    def __init__(self, env: VectorEnv[Any, ActType, ArrayType]) -> None:
        super().__init__(env, transform_observation.FlattenObservation)


class GrayscaleObservation(VectorizeTransformObservation[ActType, ArrayType]):
    """Turns RGB images into brightness; see `wrappers.GrayscaleObservation`."""

    def __init__(self, env: VectorEnv[Any, ActType, ArrayType], keep_dim: bool = False) -> None:
        super().__init__(env, transform_observation.GrayscaleObservation, keep_dim=keep_dim)


class ReshapeObservation(VectorizeTransformObservation[ActType, ArrayType]):
    """Gives each observation another shape; see `wrappers.ReshapeObservation`."""

    def __init__(self, env: VectorEnv[Any, ActType, ArrayType], shape: tuple[int, ...]) -> None:
        super().__init__(env, transform_observation.ReshapeObservation, shape=shape)


class RescaleObservation(VectorizeTransformObservation[ActType, ArrayType]):
    """Maps observations linearly onto other bounds; see `wrappers.RescaleObservation`."""

    def __init__(
        self, env: VectorEnv[Any, ActType, ArrayType], min_obs: Bound, max_obs: Bound
    ) -> None:
        bounds = {"min_obs": min_obs, "max_obs": max_obs}
        super().__init__(env, transform_observation.RescaleObservation, **bounds)


class DtypeObservation(VectorizeTransformObservation[ActType, ArrayType]):
    """Converts observations to another dtype; see `wrappers.DtypeObservation`."""

    def __init__(self, env: VectorEnv[Any, ActType, ArrayType], dtype: DTypeLike) -> None:
        super().__init__(env, transform_observation.DtypeObservation, dtype=dtype)
