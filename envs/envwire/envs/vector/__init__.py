"""Vector environments: many copies of an environment behind one reset and one step."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from envwire.envs.vector import utils as utils
    from envwire.envs.vector.async_vector_env import AsyncVectorEnv as AsyncVectorEnv
    from envwire.envs.vector.sync_vector_env import SyncVectorEnv as SyncVectorEnv
    from envwire.envs.vector.vector_env import AutoresetMode as AutoresetMode
    from envwire.envs.vector.vector_env import VectorActionWrapper as VectorActionWrapper
    from envwire.envs.vector.vector_env import VectorEnv as VectorEnv
    from envwire.envs.vector.vector_env import VectorObservationWrapper as VectorObservationWrapper
    from envwire.envs.vector.vector_env import VectorRewardWrapper as VectorRewardWrapper
    from envwire.envs.vector.vector_env import VectorWrapper as VectorWrapper
else:
    from envwire.envs._lazy import lazy_names

    _NAMES = {
        "async_vector_env": "AsyncVectorEnv",
        "sync_vector_env": "SyncVectorEnv",
        "vector_env": "AutoresetMode VectorActionWrapper VectorEnv VectorObservationWrapper "
        "VectorRewardWrapper VectorWrapper",
    }
    __all__ = [name for names in ("utils", *_NAMES.values()) for name in names.split()]
    __getattr__, __dir__ = lazy_names(__name__, _NAMES, submodules=("utils",))
