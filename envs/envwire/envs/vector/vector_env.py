"""The vector environment API: `VectorEnv`, its wrappers, its info and `AutoresetMode`."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Any, Generic, cast

import numpy as np
from numpy.typing import NDArray

from envwire.envs import logger
from envwire.envs._env import (
    ActType,
    ArrayType,
    Info,
    ObsType,
    Options,
    PartialGeneric,
    VectorStep,
    WrapperActType,
    WrapperObsType,
)
from envwire.envs.core import forwarded, overridable, read_only
from envwire.envs.utils import seeding

if TYPE_CHECKING:
    from typing_extensions import Self

    from envwire.envs.core import RenderFrame
    from envwire.envs.spaces import Space
    from envwire.envs.specs import EnvSpec


#: Python types that get a column of their own dtype; numpy's numbers do too.
_NUMBERS = (bool, int, float)


def add_info(vector_infos: Info, env_info: Info, env_num: int, num_envs: int) -> Info:
    """Puts the info of one sub-environment into the columns of ``vector_infos``.

    Beside each ``key`` there is ``_key``, a bool array of shape (num_envs,) that says which
    sub-environments have it. A dict becomes a dict of columns; numbers and arrays get an array of
    their dtype, filled with zeros for the others; anything else gets an object array. The last
    observation of an episode (``final_obs``) is always kept as an object.

    Returns:
        ``vector_infos``.
    """
    for key, value in env_info.items():
        mask = f"_{key}"
        # Where another sub-environment has a number, this may be an array: AttributeError, as in Gymnasium.
        masks = vector_infos.get(mask)
        if isinstance(value, dict) and key != "final_obs":
            nested: dict[str, Any] = vector_infos.get(key, {})
            own = cast("dict[str, Any]", value)
            vector_infos[key] = add_info(nested, own, env_num, num_envs)
        else:
            if key not in vector_infos:
                vector_infos[key] = _column(key, value, num_envs)
            vector_infos[key][env_num] = value
        if masks is None:
            masks = vector_infos[mask] = np.zeros(num_envs, dtype=np.bool_)
        masks[env_num] = True
    return vector_infos


def _column(key: str, value: Any, num_envs: int) -> NDArray[Any]:
    """An empty column for values like ``value``."""
    if key == "final_obs" or not is_numeric(value):
        return np.full(num_envs, None, dtype=object)
    return np.zeros_like(value, shape=(num_envs, *np.asarray(value).shape), subok=False)


def is_numeric(value: object) -> bool:
    """Returns whether a value gets a column of its own dtype."""
    return type(value) in _NUMBERS or isinstance(value, np.number | np.ndarray)


__all__ = [
    "ArrayType",
    "AutoresetMode",
    "VectorActionWrapper",
    "VectorEnv",
    "VectorObservationWrapper",
    "VectorRewardWrapper",
    "VectorWrapper",
]


class AutoresetMode(Enum):
    """When a vector environment resets a sub-environment whose episode has ended.

    * ``NEXT_STEP``: on the next step, which ignores that sub-environment's action and earns 0.0.
    * ``SAME_STEP``: at once; the last observation and info are in ``final_obs``, ``final_info``.
    * ``DISABLED``: never; the caller resets with ``options={"reset_mask": bool array}``.
    """

    NEXT_STEP = "NextStep"
    SAME_STEP = "SameStep"
    DISABLED = "Disabled"


class VectorEnv(PartialGeneric, seeding.Seeded, Generic[ObsType, ActType, ArrayType]):
    """Many copies of one environment behind one `reset` and one `step`.

    Observations and actions are elements of the batched spaces; rewards, terminations and
    truncations are arrays of shape (num_envs,); the info is a dict of columns (see `add_info`).

    Attributes:
        num_envs: The number of sub-environments.
        observation_space: The batched space.
        action_space: The batched space.
        single_observation_space: The space of one sub-environment.
        single_action_space: The space of one sub-environment.
        metadata: As `Env`'s, and ``"autoreset_mode"``, an `AutoresetMode`.
        render_mode: As `Env`'s.
        spec: The spec from which `make_vec` built this; ``None`` if `make_vec` did not.
        closed: Whether `close` was called.
    """

    metadata: dict[str, Any] = {}  # noqa: RUF012 - subclasses and instances assign their own
    spec: EnvSpec | None = None
    render_mode: str | None = None
    closed: bool = False

    observation_space: Space[Any]
    action_space: Space[Any]
    single_observation_space: Space[Any]
    single_action_space: Space[Any]
    num_envs: int

    def reset(self, *, seed: int | None = None, options: Options = None) -> tuple[ObsType, Info]:
        """Starts an episode in every sub-environment.

        An override begins with ``super().reset(seed=seed)`` if it draws from `np_random`.

        Args:
            seed: A Python int >= 0, from which the subclass derives the copies' seeds.
            options: Whatever the environment documents.

        Returns:
            The batched first observations, and the info.
        """
        del options
        if seed is not None:
            self._np_random, self._np_random_seed = seeding.np_random(seed)
        # Overrides call this for the seeding alone; there are no episodes to describe here.
        return cast("tuple[ObsType, dict[str, Any]]", None)

    def step(self, actions: ActType) -> VectorStep[ObsType, ArrayType]:
        """Runs one time step in every sub-environment.

        Args:
            actions: An element of `action_space`.

        Returns:
            The batched observations, rewards, terminations and truncations, and the info.
        """
        raise NotImplementedError(f"{self} must override step(actions)")

    def render(self) -> tuple[RenderFrame, ...] | None:
        """Returns a frame of every sub-environment."""
        raise NotImplementedError(f"{self} must override render()")

    def close(self, **kwargs: Any) -> None:
        """Closes every sub-environment, once; ``kwargs`` go to `close_extras`."""
        if not self.closed:
            self.close_extras(**kwargs)
            self.closed = True

    def close_extras(self, **kwargs: Any) -> None:
        """Releases the resources of the subclass."""

    @property
    def unwrapped(self) -> Self:
        """The vector environment beneath every wrapper."""
        return self

    def _add_info(self, vector_infos: Info, env_info: Info, env_num: int) -> Info:
        """Puts the info of sub-environment ``env_num`` into the columns of ``vector_infos``."""
        return add_info(vector_infos, env_info, env_num, self.num_envs)

    def __repr__(self) -> str:
        which = "" if self.spec is None else f"{self.spec.id}, "
        return f"{type(self).__name__}({which}num_envs={self.num_envs})"


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

    def step(self, actions: WrapperActType) -> VectorStep[WrapperObsType, ArrayType]:
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

    def step(self, actions: ActType) -> VectorStep[WrapperObsType, ArrayType]:
        """Steps the wrapped environments and changes the observations."""
        observations, rewards, terminations, truncations, infos = self.env.step(actions)
        return self.observations(observations), rewards, terminations, truncations, infos

    def observations(self, observations: ObsType) -> WrapperObsType:
        """Returns what the agent sees instead of the batch ``observations``."""
        raise NotImplementedError(f"{type(self).__name__} must override observations(observations)")


class VectorActionWrapper(VectorWrapper[ObsType, WrapperActType, ObsType, ActType, ArrayType]):
    """A vector wrapper that changes actions: override `actions`."""

    def step(self, actions: WrapperActType) -> VectorStep[ObsType, ArrayType]:
        """Changes the actions and steps the wrapped environments with them."""
        return self.env.step(self.actions(actions))

    def actions(self, actions: WrapperActType) -> ActType:
        """Returns a batch of the wrapped environments' space for the agent's ``actions``."""
        raise NotImplementedError(f"{type(self).__name__} must override actions(actions)")


class VectorRewardWrapper(VectorWrapper[ObsType, ActType, ObsType, ActType, ArrayType]):
    """A vector wrapper that changes rewards: override `rewards`."""

    def step(self, actions: ActType) -> VectorStep[ObsType, ArrayType]:
        """Steps the wrapped environments and changes the rewards."""
        observations, rewards, terminations, truncations, infos = self.env.step(actions)
        return observations, self.rewards(rewards), terminations, truncations, infos

    def rewards(self, rewards: ArrayType) -> ArrayType:
        """Returns what the agents earn instead of ``rewards``, an array of shape (num_envs,)."""
        raise NotImplementedError(f"{type(self).__name__} must override rewards(rewards)")
