"""Wrappers for vector environments, each loaded when it is first used, as those of `wrappers` are."""
# ruff: noqa: F403

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from envwire.envs.wrappers.vector.common import *
    from envwire.envs.wrappers.vector.dict_info_to_list import *
    from envwire.envs.wrappers.vector.stateful_observation import *
    from envwire.envs.wrappers.vector.stateful_reward import *
    from envwire.envs.wrappers.vector.vectorize_action import *
    from envwire.envs.wrappers.vector.vectorize_observation import *
    from envwire.envs.wrappers.vector.vectorize_reward import *
else:
    from envwire.envs._lazy import lazy_names

    _NAMES = {
        "common": "RecordEpisodeStatistics",
        "dict_info_to_list": "DictInfoToList",
        "stateful_observation": "NormalizeObservation",
        "stateful_reward": "NormalizeReward",
        "vectorize_action": "ClipAction RescaleAction TransformAction VectorizeTransformAction",
        "vectorize_observation": "DtypeObservation FilterObservation FlattenObservation "
        "GrayscaleObservation RescaleObservation ReshapeObservation TransformObservation "
        "VectorizeTransformObservation",
        "vectorize_reward": "ClipReward TransformReward VectorizeTransformReward",
    }
    __all__ = [name for names in _NAMES.values() for name in names.split()]
    __getattr__, __dir__ = lazy_names(__name__, _NAMES, submodules=_NAMES)
