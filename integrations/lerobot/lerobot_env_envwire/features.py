"""LeRobot's features of spaces: what a policy is told of the shapes it will see and give."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gymnasium import spaces
from lerobot.configs import FeatureType, PolicyFeature
from lerobot.utils.constants import (
    ACTION,
    OBS_ENV_STATE,
    OBS_IMAGE,
    OBS_IMAGES,
    OBS_STATE,
    OBS_STR,
)

_PIXELS = "pixels"
#: The keys that LeRobot gives a meaning.
_KNOWN = {
    _PIXELS: (FeatureType.VISUAL, OBS_IMAGE),
    "agent_pos": (FeatureType.STATE, OBS_STATE),
    "environment_state": (FeatureType.ENV, OBS_ENV_STATE),
}


def features_of(
    observation_space: spaces.Space[Any], action_space: spaces.Space[Any]
) -> tuple[dict[str, PolicyFeature], dict[str, str]]:
    """Returns the features by the environment's names, and the policy's name for each.

    Raises:
        ValueError: LeRobot has no use for these spaces.
    """
    if not isinstance(action_space, spaces.Box) or len(action_space.shape) != 1:
        raise ValueError(f"LeRobot's actions are a Box of one dimension, not {action_space}")
    if not isinstance(observation_space, spaces.Dict):
        raise ValueError(
            f"LeRobot observes a Dict with keys such as pixels and agent_pos, not {observation_space}; put a wrapper "
            "that makes one around the environment"
        )
    features = {ACTION: PolicyFeature(type=FeatureType.ACTION, shape=action_space.shape)}
    names = {ACTION: ACTION}
    for name, kind, space, policy_name in _observed(observation_space):
        features[name] = PolicyFeature(type=kind, shape=_shape(name, space))
        names[name] = policy_name
    return features, names


def _observed(
    space: spaces.Dict,
) -> Iterator[tuple[str, FeatureType, spaces.Space[Any], str]]:
    """Yields name, kind, space and the policy's name of each part; several cameras are a part each."""
    for key, part in space.spaces.items():
        if key == _PIXELS and isinstance(part, spaces.Dict):
            for camera, picture in part.spaces.items():
                yield (
                    f"{_PIXELS}/{camera}",
                    FeatureType.VISUAL,
                    picture,
                    f"{OBS_IMAGES}.{camera}",
                )
        else:
            kind, policy_name = _KNOWN.get(key, (FeatureType.STATE, f"{OBS_STR}.{key}"))
            yield key, kind, part, policy_name


def _shape(name: str, space: spaces.Space[Any]) -> tuple[int, ...]:
    if not isinstance(space, spaces.Box):
        raise ValueError(f"LeRobot observes arrays, and {name} is {space}")
    return space.shape
