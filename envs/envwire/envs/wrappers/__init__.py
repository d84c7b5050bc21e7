"""Wrappers for single environments, each loaded when it is first used."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from envwire.envs.wrappers import vector
    from envwire.envs.wrappers.common import (
        Autoreset,
        OrderEnforcing,
        PassiveEnvChecker,
        RecordEpisodeStatistics,
        TimeLimit,
    )
    from envwire.envs.wrappers.rendering import (
        AddWhiteNoise,
        HumanRendering,
        ObstructView,
        RenderCollection,
    )
    from envwire.envs.wrappers.stateful_action import RepeatAction, StickyAction
    from envwire.envs.wrappers.stateful_observation import (
        DelayObservation,
        FrameStackObservation,
        MaxAndSkipObservation,
        NormalizeObservation,
        TimeAwareObservation,
    )
    from envwire.envs.wrappers.stateful_reward import NormalizeReward
    from envwire.envs.wrappers.transform_action import (
        ClipAction,
        DiscretizeAction,
        RescaleAction,
        TransformAction,
    )
    from envwire.envs.wrappers.transform_observation import (
        AddRenderObservation,
        DiscretizeObservation,
        DtypeObservation,
        FilterObservation,
        FlattenObservation,
        GrayscaleObservation,
        RescaleObservation,
        ReshapeObservation,
        TransformObservation,
    )
    from envwire.envs.wrappers.transform_reward import ClipReward, TransformReward
else:
    from envwire.envs._lazy import lazy_names

    _load, __dir__ = lazy_names(
        __name__,
        {
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
        },
        submodules=("vector",),
    )

    def __getattr__(name: str) -> Any:
        if name in _RENAMED:
            raise AttributeError(f"{name!r} has been renamed with `wrappers.{_RENAMED[name]}`")
        return _load(name)


__all__ = [
    "AddRenderObservation",
    "AddWhiteNoise",
    "Autoreset",
    "ClipAction",
    "ClipReward",
    "DelayObservation",
    "DiscretizeAction",
    "DiscretizeObservation",
    "DtypeObservation",
    "FilterObservation",
    "FlattenObservation",
    "FrameStackObservation",
    "GrayscaleObservation",
    "HumanRendering",
    "MaxAndSkipObservation",
    "NormalizeObservation",
    "NormalizeReward",
    "ObstructView",
    "OrderEnforcing",
    "PassiveEnvChecker",
    "RecordEpisodeStatistics",
    "RenderCollection",
    "RepeatAction",
    "RescaleAction",
    "RescaleObservation",
    "ReshapeObservation",
    "StickyAction",
    "TimeAwareObservation",
    "TimeLimit",
    "TransformAction",
    "TransformObservation",
    "TransformReward",
    "vector",
]

#: Gymnasium's names before 1.0, and what these wrappers are called now.
_RENAMED = {
    "AutoResetWrapper": "Autoreset",
    "FrameStack": "FrameStackObservation",
    "PixelObservationWrapper": "AddRenderObservation",
    "VectorListInfo": "vector.DictInfoToList",
}
