"""Serves EnvPool's CartPole as a native vector, beside EnvPool in this process: `make example-envpool`."""

from __future__ import annotations

import statistics
import time
from functools import partial
from typing import Any

import envpool
import gymnasium
import numpy as np
from gymnasium.vector import VectorEnv
from gymnasium.vector.utils import batch_space

from envwire.client import RemoteVectorEnv
from envwire.server import Server

ENV_ID = "envpool/CartPole-v1"
NATIVE = "vector_entry_point"


class EnvPoolVector(VectorEnv[Any, Any, Any]):
    """EnvPool with what Gymnasium's vectors have and it has not: batched spaces, and seeds at a reset.

    Args:
        env_id: EnvPool's id.
        num_envs: Number of environments.
        kwargs: Further arguments of `envpool.make`.
    """

    def __init__(self, env_id: str, num_envs: int, **kwargs: Any) -> None:
        self._make = partial(envpool.make, env_id, "gymnasium", num_envs=num_envs, **kwargs)
        self._envs = self._make()
        self.num_envs, self.metadata = num_envs, self._envs.metadata
        self.single_observation_space = self._envs.single_observation_space
        self.single_action_space = self._envs.single_action_space
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)

    def reset(self, *, seed: Any = None, options: Any = None) -> Any:
        """Starts all episodes; with a seed, of new environments, since EnvPool takes seeds when it makes them."""
        del options
        if seed is not None:
            self._envs.close()
            self._envs = self._make(seed=seed)
        return self._envs.reset()

    def step(self, actions: Any) -> Any:
        """Steps all environments."""
        return self._envs.step(np.asarray(actions))

    def close_extras(self, **kwargs: Any) -> None:
        """Ends EnvPool's threads."""
        del kwargs
        self._envs.close()


gymnasium.register(ENV_ID, vector_entry_point=partial(EnvPoolVector, "CartPole-v1"))


def same(left: Any, right: Any) -> None:
    """Compares two results, with the types of their arrays."""
    if isinstance(left, dict):
        assert left.keys() == right.keys()
        for key in left:
            same(left[key], right[key])
    else:
        assert left.dtype == right.dtype
        np.testing.assert_array_equal(left, right)


def microseconds(env: Any, actions: Any, steps: int = 50) -> float:
    """Returns the time of a step."""
    begun = time.perf_counter()
    for _ in range(steps):
        env.step(actions)
    return (time.perf_counter() - begun) / steps * 1e6


def compare(target: str, num_envs: int) -> None:
    """Steps a local and a remote vector with the same actions, and prints how long steps take."""
    local = gymnasium.make_vec(ENV_ID, num_envs, vectorization_mode=NATIVE)
    remote = RemoteVectorEnv(target, ENV_ID, num_envs=num_envs, vectorization_mode=NATIVE)
    draw = np.random.default_rng(1)
    for left, right in zip(local.reset(seed=3), remote.reset(seed=3), strict=True):
        same(left, right)
    for _ in range(200):
        actions = draw.integers(0, 2, num_envs)
        for left, right in zip(local.step(actions), remote.step(actions), strict=True):
            same(left, right)
    turns = [(microseconds(local, actions), microseconds(remote, actions)) for _ in range(11)]
    ratio = statistics.median(there / here for here, there in turns)
    print(
        f"{num_envs} environments: 200 steps are equal; a step takes {ratio:.2f} times as long as locally"
    )
    local.close()
    remote.close()


def main() -> None:
    """Compares a small and a large vector."""
    with Server([ENV_ID], imports=["envpool_vector"]) as server:
        for num_envs in (8, 1024):
            compare(server.target, num_envs)


if __name__ == "__main__":
    main()
