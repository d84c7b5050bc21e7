"""Trains a small agent on a remote CartPole until it solves it, and films it: `make demo`.

The agent is linear: it pushes right when weights . observation > 0. The cross-entropy method finds the weights: draw
many from a Gaussian, keep the best, fit the Gaussian to them, and repeat. Every step is a request to the server.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from envwire.client import RemoteEnv
from envwire.server import Server

ENV_ID = "CartPole-v1"
SOLVED = 475.0  # mean return at which CartPole-v1 counts as solved
POPULATION, ELITE, GENERATIONS = 16, 4, 20
FILM = Path("out/cartpole.gif")

Weights = NDArray[np.float64]


def episode(env: RemoteEnv, weights: Weights, seed: int) -> float:
    """Returns the return of one episode."""
    observation, _ = env.reset(seed=seed)
    total, done = 0.0, False
    while not done:
        observation, reward, terminated, truncated, _ = env.step(int(weights @ observation > 0))
        total, done = total + reward, terminated or truncated
    return total


def evaluate(env: RemoteEnv, weights: Weights, episodes: int = 10) -> list[float]:
    """Returns the returns of episodes with seeds that were not used in training."""
    return [episode(env, weights, seed) for seed in range(10_000, 10_000 + episodes)]


@dataclass
class Search:
    """The cross-entropy method over the weights."""

    rng: np.random.Generator
    mean: Weights = field(default_factory=lambda: np.zeros(4))
    spread: Weights = field(default_factory=lambda: np.ones(4))

    def generation(self, env: RemoteEnv, number: int) -> float:
        """Tries one population and learns from its best; returns their mean return."""
        candidates = self.rng.normal(self.mean, self.spread, (POPULATION, 4))
        returns = np.array([episode(env, weights, seed=number) for weights in candidates])
        best = candidates[np.argsort(returns)[-ELITE:]]
        self.mean, self.spread = best.mean(axis=0), best.std(axis=0) + 0.05
        return float(np.sort(returns)[-ELITE:].mean())


def train(env: RemoteEnv, console: Console) -> Weights:
    """Returns weights that solve the task, or the best ones after the last generation."""
    search = Search(np.random.default_rng(0))
    columns = (
        TextColumn("training"),
        BarColumn(),
        TextColumn("{task.fields[note]}"),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=console) as progress:
        task = progress.add_task("training", total=GENERATIONS, note="")
        for number in range(GENERATIONS):
            elite = search.generation(env, number)
            progress.update(task, advance=1, note=f"best {ELITE} of {POPULATION}: {elite:5.1f}")
            if elite >= SOLVED and np.mean(evaluate(env, search.mean)) >= SOLVED:
                progress.update(task, completed=GENERATIONS)
                break
    return search.mean


def film(target: str, weights: Weights, path: Path, steps: int = 150) -> int:
    """Writes a GIF of the agent, rendered on the server; returns the number of frames."""
    env = RemoteEnv(target, ENV_ID, render_mode="rgb_array")
    observation, _ = env.reset(seed=1)
    frames = [env.render()]
    for _ in range(steps):
        observation, _, terminated, truncated, _ = env.step(int(weights @ observation > 0))
        frames.append(env.render())
        if terminated or truncated:
            break
    fps = env.metadata["render_fps"]
    env.close()
    path.parent.mkdir(parents=True, exist_ok=True)
    first, *rest = [Image.fromarray(frame) for frame in frames]
    first.save(path, save_all=True, append_images=rest, duration=1000 / fps, loop=0)
    return len(frames)


def show(console: Console, before: list[float], after: list[float]) -> None:
    """Prints the returns before and after."""
    table = Table(
        "agent", "mean return", "worst", "best", title=f"{ENV_ID}, {len(after)} episodes each"
    )
    for name, returns in (("untrained", before), ("trained", after)):
        table.add_row(name, f"{np.mean(returns):.1f}", f"{min(returns):.0f}", f"{max(returns):.0f}")
    console.print(table)


def main() -> int:
    """Runs the demo; fails if the agent does not solve the task."""
    console = Console()
    with Server([ENV_ID]) as server:
        console.print(f"server ready at {server.target}")
        env = RemoteEnv(server.target, ENV_ID)
        before = evaluate(env, np.zeros(4))
        weights = train(env, console)
        after = evaluate(env, weights)
        env.close()
        show(console, before, after)
        frames = film(server.target, weights, FILM)
    console.print(f"wrote {FILM} ({frames} frames)")
    return 0 if np.mean(after) >= SOLVED else 1


if __name__ == "__main__":
    sys.exit(main())
