"""Makes a Minari dataset from a server's recordings, and compares it with a local one: `make examples`.

The agent needs no code for the recording: it drives a remote environment, in any language.
"""

# pyright: basic, reportMissingImports=false
from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ["MINARI_DATASETS_PATH"] = tempfile.mkdtemp(prefix="minari-")  # read on import

import gymnasium
import minari
import numpy as np
from minari import DataCollector

from envwire.client.gymnasium import RemoteEnv, RemoteVectorEnv
from envwire.server import Server

ENV_ID, EPISODES, MEMBERS = "CartPole-v1", 5, 3


def play(env: gymnasium.Env[Any, Any]) -> None:
    """Plays episodes with seeded random actions."""
    env.action_space.seed(1)
    for episode in range(EPISODES):
        env.reset(seed=episode)
        done = False
        while not done:
            _, _, terminated, truncated, _ = env.step(env.action_space.sample())
            done = terminated or truncated


def play_members(envs: Any) -> None:
    """Plays the members of a vector environment, which resets them by itself."""
    envs.action_space.seed(1)
    envs.reset(seed=1)
    for _ in range(100):
        envs.step(envs.action_space.sample())


def exported(name: str, played: Callable[[str], None]) -> minari.MinariDataset:
    """Plays on a server that records, and exports the recording."""
    directory = tempfile.mkdtemp(prefix="recordings-")
    with Server([ENV_ID], record=directory) as server:
        played(server.target)
    files = [str(file) for file in Path(directory).iterdir()]
    command = [sys.executable, "-m", "envwire", "export", *files, "--minari", name]
    subprocess.run(command, check=True)
    subprocess.run([*command, "--overwrite"], check=True)  # without it, the name is refused now
    return minari.load_dataset(name)


def recorded_one(target: str) -> None:
    """Plays one environment."""
    with RemoteEnv(target, ENV_ID) as env:
        play(env)


def recorded_members(target: str) -> None:
    """Plays a vector environment."""
    envs = RemoteVectorEnv(target, ENV_ID, num_envs=MEMBERS)
    play_members(envs)
    envs.close()


def collected(name: str) -> minari.MinariDataset:
    """Plays locally, with Minari's own collector."""
    collector = DataCollector(gymnasium.make(ENV_ID))
    play(collector)
    dataset = collector.create_dataset(name)
    collector.close()
    return dataset


class Unseeded(gymnasium.Wrapper[Any, Any, Any, Any]):
    """Keeps a collector from drawing a seed for each reset without one."""

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        """Starts an episode."""
        return self.env.reset(seed=seed, options={**(options or {}), "minari_autoseed": False})


def collected_members(name: str) -> list[minari.MinariDataset]:
    """Plays a local vector environment, with a collector around each member."""
    collectors: list[DataCollector] = []

    def member() -> gymnasium.Env[Any, Any]:
        collectors.append(DataCollector(gymnasium.make(ENV_ID)))
        return Unseeded(collectors[-1])

    envs = gymnasium.vector.SyncVectorEnv([member] * MEMBERS)
    play_members(envs)
    made = [each.create_dataset(f"{name}{index}-v0") for index, each in enumerate(collectors)]
    envs.close()
    return made


def check_equal(ours: Any, theirs: Any) -> None:
    """Compares two complete episodes."""
    for name in ("observations", "actions", "rewards", "terminations", "truncations"):
        left, right = getattr(ours, name), getattr(theirs, name)
        assert left.dtype == right.dtype
        np.testing.assert_array_equal(left, right)


def check_one() -> None:
    """Compares the two datasets of one environment."""
    there, here = exported("envwire/recorded-v0", recorded_one), collected("envwire/collected-v0")
    assert here.total_steps == there.total_steps
    assert here.observation_space == there.observation_space
    assert here.action_space == there.action_space
    assert here.spec.env_spec == there.spec.env_spec
    pairs = zip(here.iterate_episodes(), there.iterate_episodes(), strict=True)
    for number, (ours, theirs) in enumerate(pairs):
        check_equal(ours, theirs)
        described = [
            list(dataset.storage.get_episode_metadata([number])) for dataset in (here, there)
        ]
        assert described[0] == described[1], described
    print(f"{EPISODES} episodes, {there.total_steps} steps: the recorded dataset equals the other")


def check_members() -> None:
    """Compares the dataset of a vector environment with those of its members."""
    there = exported("envwire/members-v0", recorded_members)
    here = collected_members("envwire/member")
    assert here[0].observation_space == there.observation_space
    first = {episode.observations[0].tobytes(): episode for episode in there.iterate_episodes()}
    # A collector keeps the unfinished episode; an export leaves it out.
    ended = [
        episode
        for dataset in here
        for episode in dataset.iterate_episodes()
        if episode.terminations[-1]
    ]
    assert len(ended) == there.total_episodes
    for episode in ended:
        check_equal(episode, first[episode.observations[0].tobytes()])
    print(f"{len(ended)} episodes of {MEMBERS} members: the recorded dataset equals the others")


if __name__ == "__main__":
    check_one()
    check_members()
