"""Vector environments: many copies of an environment behind one reset and one step."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from envwire.envs.vector import utils
from envwire.envs.vector.sync_vector_env import SyncVectorEnv
from envwire.envs.vector.vector_env import (
    AutoresetMode,
    VectorActionWrapper,
    VectorEnv,
    VectorObservationWrapper,
    VectorRewardWrapper,
    VectorWrapper,
)

if TYPE_CHECKING:
    from envwire.envs.vector.async_vector_env import AsyncVectorEnv

__all__ = [
    "AsyncVectorEnv",
    "AutoresetMode",
    "SyncVectorEnv",
    "VectorActionWrapper",
    "VectorEnv",
    "VectorObservationWrapper",
    "VectorRewardWrapper",
    "VectorWrapper",
    "utils",
]


def __getattr__(name: str) -> Any:
    """Loads `AsyncVectorEnv` when it is asked for, because multiprocessing takes its time."""
    if name == "AsyncVectorEnv":
        from envwire.envs.vector.async_vector_env import AsyncVectorEnv

        return AsyncVectorEnv
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
