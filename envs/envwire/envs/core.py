"""The core API: `Env`, `Wrapper` and the bases of observation, reward and action wrappers."""

from envwire.envs._env import Env, RenderFrame
from envwire.envs._generic import ActType, ObsType, WrapperActType, WrapperObsType
from envwire.envs._wrapper import ActionWrapper, ObservationWrapper, RewardWrapper, Wrapper

__all__ = [
    "ActType",
    "ActionWrapper",
    "Env",
    "ObsType",
    "ObservationWrapper",
    "RenderFrame",
    "RewardWrapper",
    "Wrapper",
    "WrapperActType",
    "WrapperObsType",
]
