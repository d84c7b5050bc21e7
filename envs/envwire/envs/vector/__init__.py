"""Vector environments: many copies of an environment behind one reset and one step."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from envwire.envs.vector import utils
    from envwire.envs.vector.async_vector_env import AsyncVectorEnv
    from envwire.envs.vector.sync_vector_env import SyncVectorEnv
    from envwire.envs.vector.vector_env import (
        AutoresetMode,
        VectorActionWrapper,
        VectorEnv,
        VectorObservationWrapper,
        VectorRewardWrapper,
        VectorWrapper,
    )
else:
    from envwire.envs._lazy import lazy_names

    __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "async_vector_env": "AsyncVectorEnv",
            "sync_vector_env": "SyncVectorEnv",
            "vector_env": "AutoresetMode VectorActionWrapper VectorEnv VectorObservationWrapper "
            "VectorRewardWrapper VectorWrapper",
        },
        submodules=("utils",),
    )

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
