"""Runs episodes for `envwire run`: progress bar, table of returns, optional animation."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import typer
from rich.console import Console
from rich.progress import MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from envwire.client import RemoteEnv
from envwire.server._grammar import counted
from envwire.server.cli._console import OperatorConsole
from envwire.server.cli._drive.evaluation import play_episode
from envwire.server.cli._drive.policies import Policy


@dataclass
class FrameRecorder:
    """The frames of one episode.

    Attributes:
        form: "ansi" to print them, "gif" to write a file.
        path: Path of the file.
    """

    form: str
    path: Path
    frames: list[Any] = field(default_factory=list[Any])

    def take(self, env: RemoteEnv) -> None:
        """Renders the current state."""
        self.frames.append(env.render())

    def show(self, console: Console, fps: float) -> None:
        """Prints the frames, or writes the file."""
        if self.form == "ansi":
            for frame in self.frames:
                typer.echo(frame)
            return
        from PIL import Image

        first, *rest = [Image.fromarray(np.asarray(frame)) for frame in self.frames]
        first.save(self.path, save_all=True, append_images=rest, duration=1000 / fps, loop=0)
        console.print(f"wrote {self.path} ({counted(len(self.frames), 'frame')})")


def episode_bar(console: Console, *, shown: bool = True) -> Progress:
    """Returns the progress bar of episodes, which only terminals show."""
    columns = (TextColumn("{task.description}"), MofNCompleteColumn(), TimeRemainingColumn())
    hidden = not (shown and console.is_terminal)
    return Progress(*columns, console=console, transient=True, disable=hidden)


def run_episodes(
    env: RemoteEnv,
    policy: Policy,
    episodes: int,
    seed: int,
    max_steps: int,
    recorder: FrameRecorder | None,
    *,
    bar: bool,
) -> None:
    """Runs episodes, shows the film of the first one, and prints their returns.

    Args:
        env: The environment.
        policy: Chooses the actions.
        episodes: Number of episodes.
        seed: Seed of the first episode and of the action space.
        max_steps: Steps after which an episode is cut.
        recorder: Collects the frames of the first episode.
        bar: Whether to show a progress bar in a terminal; not under a debugger, which needs the terminal.
    """
    env.action_space.seed(seed)
    console = OperatorConsole()
    results: list[tuple[float, int]] = []
    with episode_bar(console, shown=bar) as progress:
        for number in progress.track(range(episodes), description="episodes"):
            look = partial(recorder.take, env) if recorder and number == 0 else None
            results.append(play_episode(env, policy, seed + number, max_steps, look)[:2])
    if recorder is not None:
        recorder.show(console, env.metadata.get("render_fps") or 30)
    _print(console, results)


def _print(console: Console, results: list[tuple[float, int]]) -> None:
    table = Table("episode", "return", "steps")
    for number, (total, steps) in enumerate(results, 1):
        table.add_row(str(number), f"{total:.2f}", str(steps))
    console.print(table)
    returns = np.array([total for total, _ in results])
    spread = f"{returns.mean():.2f} ± {returns.std():.2f}"
    console.print(f"mean return {spread} over {counted(len(returns), 'episode')}")
