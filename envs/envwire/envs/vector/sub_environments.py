"""What vector environments that consist of single ones share: arguments of resets, spaces, steps and attributes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import deepcopy
from typing import TYPE_CHECKING, Any, SupportsFloat, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from envwire.envs._env import ActType, Info, ObsType, Options
from envwire.envs.core import Env
from envwire.envs.spaces import Space
from envwire.envs.spaces.utils import is_space_dtype_shape_equiv
from envwire.envs.type_guards import is_array, is_tuple, is_tuple_or_list
from envwire.envs.vector.utils import batch_differing_spaces, batch_space
from envwire.envs.vector.vector_env import AutoresetMode, VectorEnv

#: The seed of the first sub-environment, or one for each.
Seeds: TypeAlias = int | Sequence[int | None] | None

_MASK = "reset_mask"


def spread_seed(seed: Seeds, num_envs: int) -> Sequence[int | None]:
    """Returns a seed for each sub-environment: ``seed + i`` for the i-th if it is one number.

    Raises:
        ValueError: The number of seeds is not ``num_envs``.
    """
    if seed is None:
        return [None] * num_envs
    if isinstance(seed, int):
        return [seed + index for index in range(num_envs)]
    if len(seed) != num_envs:
        raise ValueError(f"Expected {num_envs} seeds, one per sub-environment, got {seed}")
    return seed


def read_reset_mask(options: Options, num_envs: int) -> NDArray[np.bool_]:
    """Returns ``options["reset_mask"]``, which sub-environments to reset; all if there is none.

    Raises:
        TypeError: It is not an array of bool.
        ValueError: Its shape is not (num_envs,), or it selects none.
    """
    if options is None or _MASK not in options:
        return np.ones(num_envs, dtype=np.bool_)
    mask: Any = options[_MASK]
    if not is_array(mask) or mask.dtype != np.bool_:
        raise TypeError(f"options['reset_mask'] must be a bool array, got {mask!r}")
    if mask.shape != (num_envs,):
        raise ValueError(f"options['reset_mask'] must have shape ({num_envs},), got {mask.shape}")
    if not mask.any():
        raise ValueError("options['reset_mask'] must be true somewhere: it chooses nothing")
    return mask


def pop_reset_mask(options: Options, num_envs: int) -> NDArray[np.bool_]:
    """Removes the mask from ``options``, which the sub-environments get, and returns it."""
    mask = read_reset_mask(options, num_envs)
    if options is not None and _MASK in options:
        del options[_MASK]
    return mask


#: How observation spaces are combined: ``"same"`` if all are equal, ``"different"`` if only their
#: kind, shape and dtype are, or a pair (batched space, single space).
ObservationMode: TypeAlias = "str | tuple[Space[Any], Space[Any]]"

#: What `step` returns.
ArraysStep: TypeAlias = tuple[
    ObsType, NDArray[np.float64], NDArray[np.bool_], NDArray[np.bool_], Info
]

#: The result of a step of an environment.
Step: TypeAlias = tuple[Any, SupportsFloat, bool, bool, dict[str, Any]]
#: (environment, action, whether the step before ended the episode) -> what a step returns.
Stepper: TypeAlias = Callable[[Env, Any, bool], Step]


class VectorOfEnvs(VectorEnv[ObsType, ActType, NDArray[Any]]):
    """The base of vector environments that consist of single ones."""

    copy: bool
    observation_mode: ObservationMode
    autoreset_mode: AutoresetMode

    # The sub-environments have a generator each, so each property returns a tuple.
    if not TYPE_CHECKING:
        np_random = property(lambda self: self.get_attr("np_random"))
        np_random_seed = property(lambda self: self.get_attr("np_random_seed"))

    def _describe(self, first: Env, every: Callable[[], list[Space[Any]]]) -> None:
        """Sets the metadata and the spaces.

        Args:
            first: The first sub-environment.
            every: Gives the observation spaces of all; called only if they differ.

        Raises:
            ValueError: There is no such observation mode.
            TypeError: The observation mode is a pair of something other than spaces.
        """
        self.metadata = {**first.metadata, "autoreset_mode": self.autoreset_mode}
        self.render_mode = first.render_mode
        self.single_action_space = first.action_space
        self.action_space = batch_space(first.action_space, self.num_envs)
        self.single_observation_space = first.observation_space
        mode = self.observation_mode
        if is_tuple(mode) and len(mode) == 2:
            if not all(isinstance(space, Space) for space in mode):
                raise TypeError(f"observation_mode must be a pair of spaces, got {mode!r}")
            self.observation_space, self.single_observation_space = mode
        elif mode == "same":
            self.observation_space = batch_space(first.observation_space, self.num_envs)
        elif mode == "different":
            self.observation_space = batch_differing_spaces(every())
        else:
            raise ValueError(
                f"observation_mode must be 'same', 'different' or a pair of spaces, got {mode!r}"
            )

    def _show(self, observations: Any) -> ObsType:
        """Returns the batch, or a copy that shares nothing with it if that was asked for."""
        if not self.copy:
            return cast("ObsType", observations)
        if is_array(observations) and observations.dtype != object:
            return cast("ObsType", np.copy(observations))  # much cheaper than a deepcopy
        return cast("ObsType", deepcopy(observations))

    def _spread(self, name: str, values: Any) -> list[Any]:
        """Returns one value of an attribute per sub-environment.

        Raises:
            ValueError: ``values`` is a list or tuple of another length.
        """
        if not is_tuple_or_list(values):
            return [values] * self.num_envs
        if len(values) != self.num_envs:
            raise ValueError(f"Expected {self.num_envs} values for {name!r}, got {len(values)}")
        return list(values)


def check_spaces(
    mode: ObservationMode, index: int, actual: tuple[Any, Any], expected: tuple[Any, Any]
) -> None:
    """Checks that the spaces of one sub-environment are compatible with the others'.

    Args:
        mode: How the observation spaces are combined.
        index: The index of the sub-environment.
        actual: Its observation and action space.
        expected: The single observation and action space.

    Raises:
        RuntimeError: They are not.
    """
    (space, action_space), (single, single_action_space) = actual, expected
    same = mode == "same"
    if not (space == single if same else is_space_dtype_shape_equiv(space, single)):
        advice = "; use observation_mode='different' if that is meant" if same else ""
        raise RuntimeError(
            f"The observation space of sub-environment {index}, {space}, does not go with {single} "
            f"in observation_mode {mode!r}{advice}"
        )
    if action_space != single_action_space:
        raise RuntimeError(
            f"The action space of sub-environment {index}, {action_space}, is not the first one's, "
            f"{single_action_space}"
        )


def _step_or_reset(env: Env, action: Any, ended: bool) -> Step:
    if not ended:
        return env.step(action)
    observation, info = env.reset()
    return observation, 0.0, False, False, info


def _step_and_reset(env: Env, action: Any, ended: bool) -> Step:
    del ended
    observation, reward, terminated, truncated, info = env.step(action)
    if terminated or truncated:
        final = {"final_obs": observation, "final_info": info}
        observation, info = env.reset()
        info = {**final, **info}
    return observation, reward, terminated, truncated, info


def _step_only(env: Env, action: Any, ended: bool) -> Step:
    if ended:
        raise AssertionError(
            "An episode has ended: with autoreset disabled, reset the sub-environment first, with "
            "options={'reset_mask': terminations | truncations}"
        )
    return env.step(action)


#: A step of one sub-environment, in each autoreset mode.
STEPPERS: dict[AutoresetMode, Stepper] = {
    AutoresetMode.NEXT_STEP: _step_or_reset,
    AutoresetMode.SAME_STEP: _step_and_reset,
    AutoresetMode.DISABLED: _step_only,
}
