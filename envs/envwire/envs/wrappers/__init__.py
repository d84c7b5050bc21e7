"""Wrappers for single environments, each loaded when it is first used.

The package has all public names of its modules: type checkers read their ``__all__``, which a test
compares with the table.
"""
# ruff: noqa: F403

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from envwire.envs.wrappers import vector as vector
    from envwire.envs.wrappers.common import *
    from envwire.envs.wrappers.rendering import *
    from envwire.envs.wrappers.stateful_action import *
    from envwire.envs.wrappers.stateful_observation import *
    from envwire.envs.wrappers.stateful_reward import *
    from envwire.envs.wrappers.transform_action import *
    from envwire.envs.wrappers.transform_observation import *
    from envwire.envs.wrappers.transform_reward import *
else:
    from envwire.envs._lazy import lazy_names

    _NAMES = {
        "common": "Autoreset OrderEnforcing PassiveEnvChecker RecordEpisodeStatistics TimeLimit",
        "rendering": "AddWhiteNoise HumanRendering ObstructView RenderCollection",
        "stateful_action": "RepeatAction StickyAction",
        "stateful_observation": "DelayObservation FrameStackObservation MaxAndSkipObservation "
        "NormalizeObservation TimeAwareObservation",
        "stateful_reward": "NormalizeReward",
        "transform_action": "ClipAction DiscretizeAction RescaleAction TransformAction",
        "transform_observation": "AddRenderObservation DiscretizeObservation DtypeObservation "
        "FilterObservation FlattenObservation GrayscaleObservation RescaleObservation "
        "ReshapeObservation TransformObservation",
        "transform_reward": "ClipReward TransformReward",
    }
    __all__ = [name for names in ("vector", *_NAMES.values()) for name in names.split()]
    _load, __dir__ = lazy_names(__name__, _NAMES, submodules=("vector",))

    def __getattr__(name: str) -> Any:
        if name in _RENAMED:
            raise AttributeError(f"{name!r} has been renamed with `wrappers.{_RENAMED[name]}`")
        return _load(name)


#: Gymnasium's names before 1.0, and what these wrappers are called now.
_RENAMED = {
    "AutoResetWrapper": "Autoreset",
    "FrameStack": "FrameStackObservation",
    "PixelObservationWrapper": "AddRenderObservation",
    "VectorListInfo": "vector.DictInfoToList",
}
