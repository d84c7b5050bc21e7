"""The vector environment API: `VectorEnv`, its wrappers and `AutoresetMode`."""

from envwire.envs._generic import ArrayType
from envwire.envs.vector._vector_env import AutoresetMode, VectorEnv
from envwire.envs.vector._vector_wrapper import (
    VectorActionWrapper,
    VectorObservationWrapper,
    VectorRewardWrapper,
    VectorWrapper,
)

__all__ = [
    "ArrayType",
    "AutoresetMode",
    "VectorActionWrapper",
    "VectorEnv",
    "VectorObservationWrapper",
    "VectorRewardWrapper",
    "VectorWrapper",
]
