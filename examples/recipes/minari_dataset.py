"""Collects a Minari dataset from a remote environment, and compares it with a local one: `make examples`."""

from __future__ import annotations

import os
import tempfile
from typing import Any

os.environ["MINARI_DATASETS_PATH"] = tempfile.mkdtemp(prefix="minari-")  # read on import

import gymnasium
import numpy as np
from minari import DataCollector, MinariDataset

from envwire.client.gymnasium import RemoteEnv
from envwire.server import Server

ENV_ID, EPISODES = "CartPole-v1", 5


def collect(env: gymnasium.Env[Any, Any], name: str) -> MinariDataset:
    """Plays episodes with seeded random actions, and stores them."""
    collector = DataCollector(env)
    collector.action_space.seed(1)
    for episode in range(EPISODES):
        collector.reset(seed=episode)
        done = False
        while not done:
            _, _, terminated, truncated, _ = collector.step(collector.action_space.sample())
            done = terminated or truncated
    dataset = collector.create_dataset(name)
    collector.close()
    return dataset


def main() -> None:
    """Collects the same episodes locally and remotely, and compares each array."""
    with Server([ENV_ID]) as server:
        remote = collect(RemoteEnv(server.target, ENV_ID), "envwire/remote-v0")
    local = collect(gymnasium.make(ENV_ID), "envwire/local-v0")
    steps = 0
    for here, there in zip(local.iterate_episodes(), remote.iterate_episodes(), strict=True):
        for name in ("observations", "actions", "rewards", "terminations", "truncations"):
            np.testing.assert_array_equal(getattr(here, name), getattr(there, name))
        steps += len(there.rewards)
    print(f"{EPISODES} episodes, {steps} steps: the remote dataset equals the local one")


if __name__ == "__main__":
    main()
