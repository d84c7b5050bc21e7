"""An environment of a name that another server uses for another one."""

from __future__ import annotations

from typing import Any

import numpy as np

import envwire.envs


class Other(envwire.envs.Env[Any, Any]):
    """Nothing happens in it."""

    def __init__(self, **kwargs: Any) -> None:
        self.observation_space = envwire.envs.spaces.Discrete(2)
        self.action_space = envwire.envs.spaces.Discrete(2)

    def reset(self, *, seed: Any = None, options: Any = None) -> Any:
        return np.int64(0), {}


envwire.envs.register(id="vectors/Gated-v0", entry_point=Other, disable_env_checker=True)
