"""Wrappers of vector environments, which change observations, actions or rewards."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, cast

from envwire.envs import logger
from envwire.envs._forwarding import forwarded, overridable, read_only
from envwire.envs._generic import (
    ActType,
    ArrayType,
    Info,
    ObsType,
    Options,
    WrapperActType,
    WrapperObsType,
)
from envwire.envs.vector._vector_env import AutoresetMode, VectorEnv

if TYPE_CHECKING:
    from envwire.envs.core import RenderFrame


class VectorWrapper(
    VectorEnv[WrapperObsType, WrapperActType, ArrayType],
    Generic[WrapperObsType, WrapperActType, ObsType, ActType, ArrayType],
):
    """The base of vector wrappers: a vector environment that forwards every call.

    A subclass calls ``super().__init__(env)``, overrides what it changes, and may assign its own
    spaces and metadata.

    Attributes:
        env: The vector environment one level down, which may itself be a wrapper.
    """

    env: VectorEnv[ObsType, ActType, ArrayType]

    def __init__(self, env: VectorEnv[ObsType, ActType, ArrayType]) -> None:
        if not isinstance(env, VectorEnv):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError(f"{type(self).__name__} wraps a VectorEnv, got {type(env)!r}")
        self.env = env
        self._observation_space = self._action_space = self._metadata = None
        self._single_observation_space = self._single_action_space = None

    # As in `Wrapper`: for a type checker these are the attributes that `VectorEnv` declares.
    if not TYPE_CHECKING:
        observation_space = overridable("observation_space")
        action_space = overridable("action_space")
        single_observation_space = overridable("single_observation_space")
        single_action_space = overridable("single_action_space")
        metadata = overridable("metadata")
        num_envs = read_only("num_envs")
        spec = read_only("spec")
        render_mode = read_only("render_mode")
        closed = forwarded("closed")
        np_random = forwarded("np_random")
        np_random_seed = read_only("np_random_seed")
        unwrapped = read_only("unwrapped")

    def reset(
        self, *, seed: int | None = None, options: Options = None
    ) -> tuple[WrapperObsType, Info]:
        """Resets the wrapped environments."""
        env = cast("VectorEnv[WrapperObsType, Any, Any]", self.env)
        return env.reset(seed=seed, options=options)

    def step(
        self, actions: WrapperActType
    ) -> tuple[WrapperObsType, ArrayType, ArrayType, ArrayType, Info]:
        """Steps the wrapped environments."""
        return cast("VectorEnv[WrapperObsType, WrapperActType, ArrayType]", self.env).step(actions)

    def render(self) -> tuple[RenderFrame, ...] | None:
        """Renders the wrapped environments."""
        return self.env.render()

    def close(self, **kwargs: Any) -> None:
        """Closes the wrapper and the wrapped environments."""
        return self.env.close(**kwargs)

    def close_extras(self, **kwargs: Any) -> None:
        """Releases the resources of the wrapped environments."""
        return self.env.close_extras(**kwargs)

    def __repr__(self) -> str:
        return f"<{type(self).__name__}, {self.env}>"


class VectorObservationWrapper(VectorWrapper[WrapperObsType, ActType, ObsType, ActType, ArrayType]):
    """A vector wrapper that changes observations: override `observations`.

    Raises:
        ValueError: The environment resets in the same step: its last observation is in the info
            and would stay unchanged.
    """

    def __init__(self, env: VectorEnv[ObsType, ActType, ArrayType]) -> None:
        super().__init__(env)
        mode = env.metadata.get("autoreset_mode")
        if mode is None:
            logger.warn(f"The metadata of {env} has no 'autoreset_mode'.")
        elif mode not in (AutoresetMode.NEXT_STEP, AutoresetMode.DISABLED):
            raise ValueError(
                f"{type(self).__name__} needs autoreset_mode NEXT_STEP or DISABLED, got {mode}"
            )

    def reset(
        self, *, seed: int | None = None, options: Options = None
    ) -> tuple[WrapperObsType, Info]:
        """Resets the wrapped environments and changes the observations."""
        observations, infos = self.env.reset(seed=seed, options=options)
        return self.observations(observations), infos

    def step(
        self, actions: ActType
    ) -> tuple[WrapperObsType, ArrayType, ArrayType, ArrayType, Info]:
        """Steps the wrapped environments and changes the observations."""
        observations, rewards, terminations, truncations, infos = self.env.step(actions)
        return self.observations(observations), rewards, terminations, truncations, infos

    def observations(self, observations: ObsType) -> WrapperObsType:
        """Returns what the agent sees instead of the batch ``observations``."""
        raise NotImplementedError(f"{type(self).__name__} must override observations(observations)")


class VectorActionWrapper(VectorWrapper[ObsType, WrapperActType, ObsType, ActType, ArrayType]):
    """A vector wrapper that changes actions: override `actions`."""

    def step(
        self, actions: WrapperActType
    ) -> tuple[ObsType, ArrayType, ArrayType, ArrayType, Info]:
        """Changes the actions and steps the wrapped environments with them."""
        return self.env.step(self.actions(actions))

    def actions(self, actions: WrapperActType) -> ActType:
        """Returns a batch of the wrapped environments' space for the agent's ``actions``."""
        raise NotImplementedError(f"{type(self).__name__} must override actions(actions)")


class VectorRewardWrapper(VectorWrapper[ObsType, ActType, ObsType, ActType, ArrayType]):
    """A vector wrapper that changes rewards: override `rewards`."""

    def step(self, actions: ActType) -> tuple[ObsType, ArrayType, ArrayType, ArrayType, Info]:
        """Steps the wrapped environments and changes the rewards."""
        observations, rewards, terminations, truncations, infos = self.env.step(actions)
        return observations, self.rewards(rewards), terminations, truncations, infos

    def rewards(self, rewards: ArrayType) -> ArrayType:
        """Returns what the agents earn instead of ``rewards``, an array of shape (num_envs,)."""
        raise NotImplementedError(f"{type(self).__name__} must override rewards(rewards)")
