"""The environment interface: `Env`, and the types that signatures of environments use, which default to ``Any``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, SupportsFloat, TypeAlias, cast

import numpy as np

from envwire.envs.utils import seeding

if TYPE_CHECKING:
    from typing_extensions import Self

    from envwire.envs.spaces import Space
    from envwire.envs.specs import EnvSpec


if TYPE_CHECKING:
    from numpy.typing import NDArray
    from typing_extensions import TypeVar

    ObsType = TypeVar("ObsType", default=Any)
    ActType = TypeVar("ActType", default=Any)
    WrapperObsType = TypeVar("WrapperObsType", default=Any)
    WrapperActType = TypeVar("WrapperActType", default=Any)
    ArrayType = TypeVar("ArrayType", default=Any)
else:
    from typing import TypeVar

    ObsType = TypeVar("ObsType")
    ActType = TypeVar("ActType")
    WrapperObsType = TypeVar("WrapperObsType")
    WrapperActType = TypeVar("WrapperActType")
    ArrayType = TypeVar("ArrayType")

#: An array of any dtype and shape.
Array: TypeAlias = "NDArray[Any]"

#: What `reset` and `step` tell besides the observation.
Info: TypeAlias = dict[str, Any]

#: What `step` of a vector environment returns: observations, rewards, terminations, truncations and
#: infos.
VectorStep: TypeAlias = tuple[ObsType, ArrayType, ArrayType, ArrayType, Info]

#: What `reset` may be told besides the seed.
Options: TypeAlias = dict[str, Any] | None


class PartialGeneric:
    """Lets a generic class be subscripted with fewer parameters than it has."""

    if not TYPE_CHECKING:

        def __class_getitem__(cls, params):
            given = params if isinstance(params, tuple) else (params,)
            missing = len(cls.__parameters__) - len(given)
            return super().__class_getitem__(given + (Any,) * missing)


#: One rendered frame: text, an RGB or depth array, or an (RGB, depth) pair.
RenderFrame: TypeAlias = str | np.ndarray[Any, Any] | tuple[np.ndarray[Any, Any], ...]


class Env(PartialGeneric, seeding.Seeded, Generic[ObsType, ActType]):
    """A single agent's environment: dynamics behind `step` and `reset`.

    An implementation sets `action_space` and `observation_space` in its constructor and overrides
    `reset` and `step`, and if needed `render` and `close`. To change an existing
    environment, wrap it in a `Wrapper`. Draw every random number from `np_random`, which
    ``super().reset(seed=seed)`` seeds.

    The spaces have their own generators: ``env.action_space.seed(123)`` makes sampled actions
    repeatable, and seeding the environment does not.

    Attributes:
        action_space: The space of valid actions.
        observation_space: The space of valid observations.
        metadata: ``render_modes`` (the values of `render_mode` that the environment takes),
            ``render_fps``, and any other facts for users (``"jax": True``).
        render_mode: How `render` renders, fixed at construction; ``None`` means not at all.
        reward_range: The lowest and the highest reward that one step can give.
        spec: The spec from which `make` built this environment; ``None`` if `make` did not.
    """

    metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012 - instances assign their own
    render_mode: str | None = None
    reward_range: tuple[float, float] = (-float("inf"), float("inf"))
    spec: EnvSpec | None = None

    action_space: Space[ActType]
    observation_space: Space[ObsType]

    def step(self, action: ActType) -> tuple[ObsType, SupportsFloat, bool, bool, Info]:
        """Runs one time step with the agent's action.

        Once an episode has ended (terminated or truncated), the caller must call `reset`; what
        further steps return is up to the environment. Every call returns new observation and info
        objects, because callers keep them.

        Args:
            action: An element of `action_space`.

        Returns:
            observation: An element of `observation_space`, for instance an array of positions
                and velocities.
            reward: The reward of the action.
            terminated: Whether the task reached a terminal state, good or bad.
            truncated: Whether something outside the task ended the episode, typically a time limit.
            info: Diagnostics: metrics, hidden variables, the terms of the reward.
        """
        raise NotImplementedError(f"{type(self).__name__} must override step(action)")

    def reset(self, *, seed: int | None = None, options: Options = None) -> tuple[ObsType, Info]:
        """Starts a new episode.

        An override begins with ``super().reset(seed=seed)``. Pass a seed once, right after
        construction, and then none: with ``None`` the generator continues (or, if there
        is none yet, is seeded from the system's entropy), so that episodes differ.

        Args:
            seed: A Python int >= 0 of any size that restarts `np_random`.
            options: Whatever the environment documents.

        Returns:
            The first observation of the episode, and an info as `step` returns it.

        Raises:
            error.Error: The seed is not a Python int or is negative.
        """
        del options
        if seed is not None:
            self._np_random, self._np_random_seed = seeding.np_random(seed)
        # Overrides call this for the seeding alone; there is no episode to describe here.
        return cast("tuple[ObsType, dict[str, Any]]", None)

    def render(self) -> RenderFrame | list[RenderFrame] | None:
        """Renders the current state, as `render_mode` specifies.

        * ``None``: nothing is rendered.
        * ``"human"``: shown continuously, by `step` itself; returns ``None``.
        * ``"rgb_array"``: a uint8 array of shape (height, width, 3).
        * ``"ansi"``: text, with newlines and escape sequences.
        * ``"rgb_array_list"``, ``"ansi_list"``: the frames since the last render or reset. `make`
          adds `wrappers.RenderCollection`, which turns a mode into its list.
        """
        raise NotImplementedError(f"{type(self).__name__} must override render()")

    def close(self) -> None:
        """Releases what the environment holds (windows, files, connections).

        Closing twice does nothing the second time.
        """

    @property
    def unwrapped(self) -> Env:
        """The environment beneath every wrapper."""
        return self

    def has_wrapper_attr(self, name: str) -> bool:
        """Whether this environment has the attribute ``name``."""
        return hasattr(self, name)

    def get_wrapper_attr(self, name: str) -> Any:
        """The attribute ``name``.

        Raises:
            AttributeError: There is none.
        """
        return getattr(self, name)

    def set_wrapper_attr(self, name: str, value: Any, *, force: bool = True) -> bool:
        """Sets ``name``; without ``force`` only if it exists. Returns whether it was set."""
        if force or hasattr(self, name):
            setattr(self, name, value)
            return True
        return False

    def __str__(self) -> str:
        name = type(self).__name__
        return f"<{name} instance>" if self.spec is None else f"<{name}<{self.spec.id}>>"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()
