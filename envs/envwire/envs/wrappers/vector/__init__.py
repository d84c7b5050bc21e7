"""Wrappers for vector environments; loaded when `wrappers.vector` is first used."""

from envwire.envs.wrappers.vector.common import RecordEpisodeStatistics
from envwire.envs.wrappers.vector.dict_info_to_list import DictInfoToList
from envwire.envs.wrappers.vector.stateful_observation import NormalizeObservation
from envwire.envs.wrappers.vector.stateful_reward import NormalizeReward
from envwire.envs.wrappers.vector.vectorize_action import (
    ClipAction,
    RescaleAction,
    TransformAction,
    VectorizeTransformAction,
)
from envwire.envs.wrappers.vector.vectorize_observation import (
    DtypeObservation,
    FilterObservation,
    FlattenObservation,
    GrayscaleObservation,
    RescaleObservation,
    ReshapeObservation,
    TransformObservation,
    VectorizeTransformObservation,
)
from envwire.envs.wrappers.vector.vectorize_reward import (
    ClipReward,
    TransformReward,
    VectorizeTransformReward,
)

__all__ = [
    "ClipAction",
    "ClipReward",
    "DictInfoToList",
    "DtypeObservation",
    "FilterObservation",
    "FlattenObservation",
    "GrayscaleObservation",
    "NormalizeObservation",
    "NormalizeReward",
    "RecordEpisodeStatistics",
    "RescaleAction",
    "RescaleObservation",
    "ReshapeObservation",
    "TransformAction",
    "TransformObservation",
    "TransformReward",
    "VectorizeTransformAction",
    "VectorizeTransformObservation",
    "VectorizeTransformReward",
]
