"""Makes a Minari dataset of what a server recorded, and compares it with one collected here: `make examples`.

The agent knows nothing of the recording: it drives a remote environment, in any language.
"""

# pyright: basic, reportMissingImports=false
from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

os.environ["MINARI_DATASETS_PATH"] = tempfile.mkdtemp(prefix="minari-")  # read on import

import gymnasium
import minari
import numpy as np
from minari import DataCollector

from envwire.client.gymnasium import RemoteEnv
from envwire.server import Server

ENV_ID, EPISODES = "CartPole-v1", 5


def play(env: gymnasium.Env[Any, Any]) -> None:
    """Plays episodes with seeded random actions."""
    env.action_space.seed(1)
    for episode in range(EPISODES):
        env.reset(seed=episode)
        done = False
        while not done:
            _, _, terminated, truncated, _ = env.step(env.action_space.sample())
            done = terminated or truncated


def recorded(name: str) -> minari.MinariDataset:
    """Plays on a server that records, and exports what it wrote."""
    directory = tempfile.mkdtemp(prefix="recordings-")
    with Server([ENV_ID], record=directory) as server:
        env = RemoteEnv(server.target, ENV_ID)
        play(env)
        env.close()
    files = [str(file) for file in Path(directory).iterdir()]
    command = [sys.executable, "-m", "envwire.server", "export", *files, "--minari", name]
    subprocess.run(command, check=True)
    return minari.load_dataset(name)


def collected(name: str) -> minari.MinariDataset:
    """Plays here, with Minari's own collector."""
    collector = DataCollector(gymnasium.make(ENV_ID))
    play(collector)
    dataset = collector.create_dataset(name)
    collector.close()
    return dataset


def main() -> None:
    """Compares the two datasets, whole."""
    there, here = recorded("envwire/recorded-v0"), collected("envwire/collected-v0")
    assert here.total_steps == there.total_steps
    assert here.observation_space == there.observation_space
    assert here.action_space == there.action_space
    assert here.spec.env_spec == there.spec.env_spec
    pairs = zip(here.iterate_episodes(), there.iterate_episodes(), strict=True)
    for number, (ours, theirs) in enumerate(pairs):
        for name in ("observations", "actions", "rewards", "terminations", "truncations"):
            left, right = getattr(ours, name), getattr(theirs, name)
            assert left.dtype == right.dtype
            np.testing.assert_array_equal(left, right)
        described = [
            list(dataset.storage.get_episode_metadata([number])) for dataset in (here, there)
        ]
        assert described[0] == described[1], described
    print(f"{EPISODES} episodes, {there.total_steps} steps: the recorded dataset equals the other")


if __name__ == "__main__":
    main()
