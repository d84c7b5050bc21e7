"""Environments, their wrappers, spaces and registry, with numpy as the only dependency.

The API is Gymnasium's: ``import envwire.envs as gym``.
"""

from envwire.envs import error, logger, spaces, utils, vector, wrappers
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

# Last, because it registers the built-in environments.
from envwire.envs import envs  # isort: skip

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
