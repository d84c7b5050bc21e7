"""Wrappers for one environment, each loaded when it is first asked for."""

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

#: Where each wrapper is.
_MODULES = {
    "AddRenderObservation": "transform_observation",
    "AddWhiteNoise": "rendering",
    "Autoreset": "common",
    "ClipAction": "transform_action",
    "ClipReward": "transform_reward",
    "DelayObservation": "stateful_observation",
    "DiscretizeAction": "transform_action",
    "DiscretizeObservation": "transform_observation",
    "DtypeObservation": "transform_observation",
    "FilterObservation": "transform_observation",
    "FlattenObservation": "transform_observation",
    "FrameStackObservation": "stateful_observation",
    "GrayscaleObservation": "transform_observation",
    "HumanRendering": "rendering",
    "MaxAndSkipObservation": "stateful_observation",
    "NormalizeObservation": "stateful_observation",
    "NormalizeReward": "stateful_reward",
    "ObstructView": "rendering",
    "OrderEnforcing": "common",
    "PassiveEnvChecker": "common",
    "RecordEpisodeStatistics": "common",
    "RenderCollection": "rendering",
    "RepeatAction": "stateful_action",
    "RescaleAction": "transform_action",
    "RescaleObservation": "transform_observation",
    "ReshapeObservation": "transform_observation",
    "StickyAction": "stateful_action",
    "TimeAwareObservation": "stateful_observation",
    "TimeLimit": "common",
    "TransformAction": "transform_action",
    "TransformObservation": "transform_observation",
    "TransformReward": "transform_reward",
}

#: What wrappers of older documents are called now.
_RENAMED = {
    "AutoResetWrapper": "Autoreset",
    "FrameStack": "FrameStackObservation",
    "PixelObservationWrapper": "AddRenderObservation",
    "VectorListInfo": "vector.DictInfoToList",
}


def __getattr__(name: str) -> Any:
    import importlib

    if name == "vector":
        return importlib.import_module(f"{__name__}.vector")
    if name in _RENAMED:
        raise AttributeError(f"{name!r} has been renamed with `wrappers.{_RENAMED[name]}`")
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    wrapper = getattr(importlib.import_module(f"{__name__}.{_MODULES[name]}"), name)
    globals()[name] = wrapper
    return wrapper


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
