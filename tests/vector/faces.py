"""The two libraries' vector environments, local and remote, and rollouts to compare them by."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import gymnasium
import numpy as np

import envwire.envs
import tests.hosted_envs  # pyright: ignore[reportUnusedImport]
import tests.vector.hosted  # noqa: F401  # pyright: ignore[reportUnusedImport]
from envwire.client import RemoteVectorEnv
from envwire.client.gymnasium import RemoteVectorEnv as GymnasiumRemoteVectorEnv


@dataclass(frozen=True)
class Family:
    """One library: what makes its environments here, and what shows remote ones."""

    library: ModuleType
    remote: Callable[..., Any]

    def local(self, env_id: str, num_envs: int, mode: str = "NEXT_STEP", **kwargs: Any) -> Any:
        """Makes a `SyncVectorEnv` of the library."""
        modes = self.library.vector.AutoresetMode
        return self.library.make_vec(
            env_id,
            num_envs,
            vectorization_mode="sync",
            vector_kwargs={"autoreset_mode": modes[mode]},
            **kwargs,
        )


FAMILIES = {
    "envwire": Family(envwire.envs, RemoteVectorEnv),
    "gymnasium": Family(gymnasium, GymnasiumRemoteVectorEnv),
}


def rollout(env: Any, steps: int, seed: int, masked: bool = False) -> list[Any]:
    """Returns all that a vector environment answers, with masked resets of its own where it does none."""
    env.action_space.seed(seed)
    seen: list[Any] = [env.reset(seed=seed)]
    for _ in range(steps):
        step = env.step(env.action_space.sample())
        seen.append(step)
        ended = step[2] | step[3]
        if masked and ended.any():
            seen.append(env.reset(options={"reset_mask": ended}))
    return seen


def episodes(seen: list[Any]) -> int:
    """Returns how many episodes ended in a rollout."""
    return int(sum(np.sum(step[2] | step[3]) for step in seen if len(step) == 5))
