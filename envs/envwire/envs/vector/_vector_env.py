"""The vector environment interface: many copies of an environment, stepped together."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Any, Generic, cast

from envwire.envs._generic import ActType, ArrayType, Info, ObsType, Options, PartialGeneric
from envwire.envs._seeded import Seeded
from envwire.envs.utils import seeding
from envwire.envs.vector.info import add_info

if TYPE_CHECKING:
    from typing_extensions import Self

    from envwire.envs.core import RenderFrame
    from envwire.envs.spaces import Space
    from envwire.envs.specs import EnvSpec


class AutoresetMode(Enum):
    """When a vector environment resets a sub-environment whose episode has ended.

    * ``NEXT_STEP``: on the next step, which ignores that sub-environment's action and earns 0.0.
    * ``SAME_STEP``: at once; the last observation and info are in ``final_obs``, ``final_info``.
    * ``DISABLED``: never; the caller resets with ``options={"reset_mask": bool array}``.
    """

    NEXT_STEP = "NextStep"
    SAME_STEP = "SameStep"
    DISABLED = "Disabled"


class VectorEnv(PartialGeneric, Seeded, Generic[ObsType, ActType, ArrayType]):
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

    def step(self, actions: ActType) -> tuple[ObsType, ArrayType, ArrayType, ArrayType, Info]:
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
