"""Runs the same episodes on all given servers and checks that their observations are equal."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from envwire.client import RemoteEnv

EPISODES = 5


def observe_episodes(target: str) -> NDArray[np.float32]:
    """Returns the observations, shape (steps, 4), of all episodes on the server at `target`."""
    env = RemoteEnv(target, "CartPole-v1")
    try:
        return np.stack([seen for seed in range(EPISODES) for seen in _episode(env, seed)])
    finally:
        env.close()


def _episode(env: RemoteEnv, seed: int) -> Iterator[NDArray[np.float32]]:
    """Yields the observations of one episode of a fixed policy, which pushes to the side to which the pole falls."""
    observation, _ = env.reset(seed=seed)
    over = False
    while not over:
        _, _, angle, velocity = observation
        observation, _, terminated, truncated, _ = env.step(int(angle + velocity > 0))
        over = terminated or truncated
        yield observation


def main(targets: list[str]) -> int:
    """Drives the servers and prints a table; returns 0 if all observations are equal, else 1."""
    table = Table("server", "episodes", "steps", "steps/s")
    paths: list[NDArray[np.float32]] = []
    for target in targets:
        start = time.monotonic()
        paths.append(observe_episodes(target))
        rate = len(paths[-1]) / (time.monotonic() - start)
        table.add_row(target, str(EPISODES), str(len(paths[-1])), f"{rate:.0f}")
    same = all(np.array_equal(paths[0], path) for path in paths)
    console = Console()
    console.print(table)
    console.print("all servers saw the same" if same else "the servers saw different episodes")
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:] or ["127.0.0.1:50051"]))
