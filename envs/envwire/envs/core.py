"""The core API: `Env`, `Wrapper` and the bases of observation, reward and action wrappers."""

from __future__ import annotations

from copy import deepcopy
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Generic, SupportsFloat, cast

from envwire.envs import logger
from envwire.envs._env import (
    ActType,
    Env,
    Info,
    ObsType,
    Options,
    RenderFrame,
    WrapperActType,
    WrapperObsType,
)
from envwire.envs.specs import EnvSpec, WrapperSpec
from envwire.envs.utils.record_constructor import RecordConstructorArgs


def overridable(name: str) -> property:
    """The wrapped object's attribute, until the wrapper assigns its own (kept in ``_name``)."""
    own = f"_{name}"

    def read(wrapper: Any) -> Any:
        value = getattr(wrapper, own, None)
        return getattr(wrapper.env, name) if value is None else value

    def assign(wrapper: Any, value: Any) -> None:
        setattr(wrapper, own, value)

    return property(read, assign)


def read_only(name: str) -> property:
    """The wrapped object's attribute, for reading only."""
    return property(attrgetter(f"env.{name}"))


def forwarded(name: str) -> property:
    """The wrapped object's attribute, read and assigned there."""

    def assign(wrapper: Any, value: Any) -> None:
        setattr(wrapper.env, name, value)

    return read_only(name).setter(assign)


class Wrapper(
    Env[WrapperObsType, WrapperActType],
    Generic[WrapperObsType, WrapperActType, ObsType, ActType],
):
    """The base of all wrappers: an environment that forwards every call to the one it wraps.

    A subclass calls ``super().__init__(env)`` and overrides what it changes. It may assign its own
    `action_space`, `observation_space`, `reward_range`, `render_mode` and `metadata`; the wrapped
    environment keeps its own. `np_random` and its seed are always the wrapped environment's.

    A wrapper that also inherits from `utils.RecordConstructorArgs` appears in `spec` with its
    arguments, so that ``make(env.spec)`` builds the same stack again.

    Attributes:
        env: The environment one level down, which may itself be a wrapper.
    """

    env: Env[ObsType, ActType]

    def __init__(self, env: Env[ObsType, ActType]) -> None:
        if not isinstance(env, Env):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError(
                f"{type(self).__name__} wraps an envwire.envs.Env, got {type(env)!r}; "
                "an environment of another library needs an adapter"
            )
        self.env = env
        self._cached_spec: EnvSpec | None = None

    def step(
        self, action: WrapperActType
    ) -> tuple[WrapperObsType, SupportsFloat, bool, bool, Info]:
        """Steps the wrapped environment."""
        return cast("Env[WrapperObsType, WrapperActType]", self.env).step(action)

    def reset(
        self, *, seed: int | None = None, options: Options = None
    ) -> tuple[WrapperObsType, Info]:
        """Resets the wrapped environment."""
        env = cast("Env[WrapperObsType, WrapperActType]", self.env)
        return env.reset(seed=seed, options=options)

    def render(self) -> RenderFrame | list[RenderFrame] | None:
        """Renders the wrapped environment."""
        return self.env.render()

    def close(self) -> None:
        """Closes the wrapper and the wrapped environment."""
        return self.env.close()

    # For a type checker these are the attributes that `Env` declares. Declaring properties there would
    # forbid environments to assign them.
    if not TYPE_CHECKING:
        action_space = overridable("action_space")
        observation_space = overridable("observation_space")
        reward_range = overridable("reward_range")
        render_mode = overridable("render_mode")
        metadata = overridable("metadata")
        np_random = forwarded("np_random")
        np_random_seed = read_only("np_random_seed")
        unwrapped = read_only("unwrapped")

        @property
        def spec(self):
            """The spec of the wrapped environment, with this wrapper added."""
            if self._cached_spec is None:
                self._cached_spec = self._copy_spec()
            return self._cached_spec

        @property
        def _np_random(self):
            raise AttributeError(
                "Can't access `_np_random` of a wrapper, "
                "use `.unwrapped._np_random` or `.np_random`."
            )

    def _copy_spec(self) -> EnvSpec | None:
        """The wrapped environment's spec with this wrapper in it, or ``None`` if it has none."""
        try:
            spec = deepcopy(self.env.spec)
            if spec is not None:
                self._extend_spec(spec)
        except Exception as exc:  # a spec may hold objects that raise anything
            problem = f"An exception occurred ({exc}) while copying the environment spec"
            logger.warn("%s", f"{problem}={self.env.spec}, so that the spec of {self} is None")
            return None
        return spec

    def _extend_spec(self, spec: EnvSpec) -> None:
        """Adds this wrapper to ``spec``, a copy of the wrapped environment's spec."""
        spec.additional_wrappers += (self._own_spec(),)

    def _own_spec(self) -> WrapperSpec:
        """The spec of this wrapper; its kwargs are ``None`` if it does not record them."""
        kwargs: dict[str, Any] | None = None
        if isinstance(self, RecordConstructorArgs):
            recorded = self.saved_kwargs
            kwargs = {key: deepcopy(value) for key, value in recorded.items() if key != "env"}
        return WrapperSpec(self.class_name(), _entry_point(type(self)), kwargs)

    @classmethod
    def wrapper_spec(cls, **kwargs: Any) -> WrapperSpec:
        """A spec that builds this wrapper with ``kwargs``, for `EnvSpec.additional_wrappers`."""
        return WrapperSpec(cls.class_name(), _entry_point(cls), kwargs)

    @classmethod
    def class_name(cls) -> str:
        """The name that this wrapper has in specs."""
        return cls.__name__

    def has_wrapper_attr(self, name: str) -> bool:
        """Whether this wrapper or anything beneath it has the attribute ``name``."""
        return hasattr(self, name) or self.env.has_wrapper_attr(name)

    def get_wrapper_attr(self, name: str) -> Any:
        """The attribute ``name`` of the outermost layer that has it.

        Raises:
            AttributeError: No layer has it.
        """
        try:
            return getattr(self, name)
        except AttributeError:
            pass
        try:
            return self.env.get_wrapper_attr(name)
        except AttributeError as exc:
            raise AttributeError(
                f"neither {self.class_name()} nor an environment inside it "
                f"has the attribute {name!r}: {self}"
            ) from exc

    def set_wrapper_attr(self, name: str, value: Any, *, force: bool = True) -> bool:
        """Sets the attribute ``name`` on the outermost layer that has it.

        Args:
            name: The attribute.
            value: Its new value.
            force: Whether to create it on this wrapper when no layer has it.

        Returns:
            Whether it was set.
        """
        if not hasattr(self, name):
            if self.env.set_wrapper_attr(name, value, force=False):
                return True
            if not force:
                return False
        setattr(self, name, value)
        return True

    def __str__(self) -> str:
        return f"<{type(self).__name__}{self.env}>"

    def __repr__(self) -> str:
        return str(self)


def _entry_point(cls: type) -> str:
    return f"{cls.__module__}:{cls.__name__}"


class ObservationWrapper(Wrapper[WrapperObsType, ActType, ObsType, ActType]):
    """A wrapper that changes observations: override `observation`.

    If the result is not in the wrapped environment's space, assign `observation_space`.
    """

    def reset(
        self, *, seed: int | None = None, options: Options = None
    ) -> tuple[WrapperObsType, Info]:
        """Resets the wrapped environment and changes the observation."""
        observation, info = self.env.reset(seed=seed, options=options)
        return self.observation(observation), info

    def step(self, action: ActType) -> tuple[WrapperObsType, SupportsFloat, bool, bool, Info]:
        """Steps the wrapped environment and changes the observation."""
        observation, reward, terminated, truncated, info = self.env.step(action)
        return self.observation(observation), reward, terminated, truncated, info

    def observation(self, observation: ObsType) -> WrapperObsType:
        """Returns what the agent sees instead of ``observation``."""
        raise NotImplementedError(f"{type(self).__name__} must override observation(observation)")


class RewardWrapper(Wrapper[ObsType, ActType, ObsType, ActType]):
    """A wrapper that changes rewards: override `reward` and, if it narrows, `reward_range`."""

    def step(self, action: ActType) -> tuple[ObsType, SupportsFloat, bool, bool, Info]:
        """Steps the wrapped environment and changes the reward."""
        observation, reward, terminated, truncated, info = self.env.step(action)
        return observation, self.reward(reward), terminated, truncated, info

    def reward(self, reward: SupportsFloat) -> SupportsFloat:
        """Returns what the agent earns instead of ``reward``."""
        raise NotImplementedError(f"{type(self).__name__} must override reward(reward)")


class ActionWrapper(Wrapper[ObsType, WrapperActType, ObsType, ActType]):
    """A wrapper that changes actions: override `action`.

    If agents may pass actions outside the wrapped environment's space, assign `action_space`.
    """

    def step(self, action: WrapperActType) -> tuple[ObsType, SupportsFloat, bool, bool, Info]:
        """Changes the action and steps the wrapped environment with it."""
        return self.env.step(self.action(action))

    def action(self, action: WrapperActType) -> ActType:
        """Returns an action of the wrapped environment's space for the agent's ``action``."""
        raise NotImplementedError(f"{type(self).__name__} must override action(action)")


__all__ = [
    "ActType",
    "ActionWrapper",
    "Env",
    "ObsType",
    "ObservationWrapper",
    "RenderFrame",
    "RewardWrapper",
    "Wrapper",
    "WrapperActType",
    "WrapperObsType",
]
