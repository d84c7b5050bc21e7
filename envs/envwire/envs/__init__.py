"""Environments, their wrappers, spaces and registry, with numpy as the only dependency.

The API is Gymnasium's: ``import envwire.envs as gym``. Each name is loaded when it is first used:
importing `envwire.envs.spaces`, for example, loads no wrapper and no environment.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from envwire.envs import envs as envs
    from envwire.envs import error as error
    from envwire.envs import logger as logger
    from envwire.envs import spaces as spaces
    from envwire.envs import utils as utils
    from envwire.envs import vector as vector
    from envwire.envs import wrappers as wrappers
    from envwire.envs.core import ActionWrapper as ActionWrapper
    from envwire.envs.core import Env as Env
    from envwire.envs.core import ObservationWrapper as ObservationWrapper
    from envwire.envs.core import RewardWrapper as RewardWrapper
    from envwire.envs.core import Wrapper as Wrapper
    from envwire.envs.envs.registration import VectorizeMode as VectorizeMode
    from envwire.envs.envs.registration import make as make
    from envwire.envs.envs.registration import make_vec as make_vec
    from envwire.envs.envs.registration import pprint_registry as pprint_registry
    from envwire.envs.envs.registration import register as register
    from envwire.envs.envs.registration import register_envs as register_envs
    from envwire.envs.envs.registration import registry as registry
    from envwire.envs.envs.registration import spec as spec
    from envwire.envs.spaces import Space as Space
else:
    from envwire.envs._lazy import lazy_names

    _NAMES = {
        "core": "ActionWrapper Env ObservationWrapper RewardWrapper Wrapper",
        "envs.registration": "VectorizeMode make make_vec pprint_registry register register_envs "
        "registry spec",
        "spaces": "Space",
    }
    _MODULES = ("envs", "error", "logger", "spaces", "utils", "vector", "wrappers")
    __all__ = [name for names in (*_MODULES, *_NAMES.values()) for name in names.split()]
    __getattr__, __dir__ = lazy_names(__name__, _NAMES, submodules=_MODULES)
