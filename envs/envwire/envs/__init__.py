"""Environments, their wrappers, spaces and registry, with numpy as the only dependency.

The API is Gymnasium's: ``import envwire.envs as gym``. Each name is loaded when it is first used:
importing `envwire.envs.spaces`, for example, loads no wrapper and no environment.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from envwire.envs import envs, error, logger, spaces, utils, vector, wrappers
    from envwire.envs.core import ActionWrapper, Env, ObservationWrapper, RewardWrapper, Wrapper
    from envwire.envs.envs.registration import (
        VectorizeMode,
        make,
        make_vec,
        pprint_registry,
        register,
        register_envs,
        registry,
        spec,
    )
    from envwire.envs.spaces import Space
else:
    from envwire.envs._lazy import lazy_names

    __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "core": "ActionWrapper Env ObservationWrapper RewardWrapper Wrapper",
            "envs.registration": "VectorizeMode make make_vec pprint_registry register register_envs "
            "registry spec",
            "spaces": "Space",
        },
        submodules=("envs", "error", "logger", "spaces", "utils", "vector", "wrappers"),
    )

__all__ = [
    "ActionWrapper",
    "Env",
    "ObservationWrapper",
    "RewardWrapper",
    "Space",
    "VectorizeMode",
    "Wrapper",
    "envs",
    "error",
    "logger",
    "make",
    "make_vec",
    "pprint_registry",
    "register",
    "register_envs",
    "registry",
    "spaces",
    "spec",
    "utils",
    "vector",
    "wrappers",
]
