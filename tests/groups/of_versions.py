"""Gymnasium environments that tell in which interpreter they run, and with which packages."""

from __future__ import annotations

import os
import sys
from typing import Any

import google.protobuf
import gymnasium
import numpy as np

OLD, NEW = "versions/Old-v0", "versions/New-v0"


class Report(gymnasium.Env[np.ndarray, int]):
    """The info of a reset tells."""

    observation_space = gymnasium.spaces.Box(-1, 1, (), np.float64)
    action_space = gymnasium.spaces.Discrete(2)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        super().reset(seed=seed)
        found = {
            name.partition(".")[0] for name, module in sys.modules.items() if _installed(module)
        }
        info = {
            "pid": os.getpid(),
            "prefix": sys.prefix,
            "numpy": np.__version__,
            "gymnasium": gymnasium.__version__,
            "protobuf": google.protobuf.__version__,
            "packages": sorted(found),
        }
        return np.zeros(()), info

    def step(self, action: int) -> Any:
        return np.zeros(()), 0.0, False, False, {}


def _installed(module: Any) -> bool:
    return "site-packages" in (getattr(module, "__file__", None) or "")


for env_id in (OLD, NEW):
    gymnasium.register(env_id, f"{__name__}:Report")
