"""The ``observation_mode``: how the observation spaces of sub-environments are combined."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

from envwire.envs.spaces import Space
from envwire.envs.spaces.utils import is_space_dtype_shape_equiv
from envwire.envs.type_guards import is_tuple
from envwire.envs.vector.utils import batch_differing_spaces, batch_space

if TYPE_CHECKING:
    from collections.abc import Callable

#: ``"same"`` if all are equal, ``"different"`` if only their kind, shape and dtype are, or a pair
#: (batched space, single space).
ObservationMode: TypeAlias = "str | tuple[Space[Any], Space[Any]]"


def batch_observations(
    mode: ObservationMode, first: Space[Any], every: Callable[[], list[Space[Any]]], num_envs: int
) -> tuple[Space[Any], Space[Any]]:
    """Returns the batched observation space and that of one sub-environment.

    Args:
        mode: How they are combined.
        first: The space of the first sub-environment.
        every: Gives the spaces of all; called only if they differ.
        num_envs: The number of sub-environments.

    Raises:
        ValueError: There is no such mode.
        TypeError: The mode is a pair of something other than spaces.
    """
    if is_tuple(mode) and len(mode) == 2:
        if not all(isinstance(space, Space) for space in mode):
            raise TypeError(f"observation_mode must be a pair of spaces, got {mode!r}")
        return mode
    if mode == "same":
        return batch_space(first, num_envs), first
    if mode == "different":
        return batch_differing_spaces(every()), first
    raise ValueError(
        f"observation_mode must be 'same', 'different' or a pair of spaces, got {mode!r}"
    )


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
        RuntimeError: They do not.
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
