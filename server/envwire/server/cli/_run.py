"""`envwire run`: drive a remote environment from a terminal."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Callable, Iterator
from enum import Enum
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console
from rich.progress import MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from envwire.client import RemoteEnv, RemoteError

Policy = Callable[[Any], Any]


class Render(str, Enum):
    """How to show the first episode."""

    ansi = "ansi"
    gif = "gif"


_MODES = {Render.ansi: "ansi", Render.gif: "rgb_array"}


def run(
    target: Annotated[str, typer.Argument(help="HOST:PORT of a server.")],
    env_id: Annotated[str, typer.Argument(help="Environment id.")],
    episodes: Annotated[int, typer.Option(min=1, help="Episodes to run.")] = 10,
    seed: Annotated[int, typer.Option(min=0, help="Seed of environment and actions.")] = 0,
    agent: Annotated[
        str,
        typer.Option(help="'random', or module:function that maps an observation to an action."),
    ] = "random",
    transport: Annotated[
        str, typer.Option(help="How to talk to the server: stream or unary.")
    ] = "stream",
    render: Annotated[
        Render | None, typer.Option(help="Show the first episode: as text, or as a GIF.")
    ] = None,
    output: Annotated[Path, typer.Option(help="Where --render gif writes.")] = Path("episode.gif"),
    max_steps: Annotated[
        int, typer.Option(min=1, help="Steps after which an episode is cut.")
    ] = 10_000,
) -> None:
    """Run a random or scripted agent on ENV_ID at TARGET and show the returns."""
    try:
        env = RemoteEnv(
            target, env_id, render_mode=_MODES[render] if render else None, transport=transport
        )
        try:
            _run(env, _policy(agent, env, seed), episodes, seed, render, output, max_steps)
        finally:
            env.close()
    except (RemoteError, LookupError, ValueError, ImportError) as error:
        typer.echo(f"envwire run: {error}", err=True)
        raise typer.Exit(1) from None
    except Exception as error:
        typer.echo(f"envwire run: the environment raised {type(error).__name__}: {error}", err=True)
        raise typer.Exit(1) from None


def _policy(agent: str, env: RemoteEnv, seed: int) -> Policy:
    if agent == "random":
        env.action_space.seed(seed)
        return lambda _: env.action_space.sample()
    module, _, name = agent.partition(":")
    sys.path.insert(0, os.getcwd())
    policy: Policy = getattr(importlib.import_module(module), name)
    return policy


def _run(
    env: RemoteEnv,
    policy: Policy,
    episodes: int,
    seed: int,
    render: Render | None,
    output: Path,
    max_steps: int,
) -> None:
    console = Console()
    results: list[tuple[float, int]] = []
    columns = (TextColumn("{task.description}"), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(
        *columns, console=console, transient=True, disable=not console.is_terminal
    ) as progress:
        for episode in progress.track(range(episodes), description="episodes"):
            shown = render if episode == 0 else None
            rewards = list(_episode(env, policy, seed + episode, shown, output, max_steps, console))
            results.append((sum(rewards), len(rewards)))
    _show(console, results)


def _episode(
    env: RemoteEnv,
    policy: Policy,
    seed: int,
    render: Render | None,
    output: Path,
    max_steps: int,
    console: Console,
) -> Iterator[float]:
    observation, _ = env.reset(seed=seed)
    frames: list[Any] = [env.render()] if render else []
    for _ in range(max_steps):
        observation, reward, terminated, truncated, _ = env.step(policy(observation))
        yield float(reward)
        if render:
            frames.append(env.render())
        if terminated or truncated:
            break
    if render is Render.ansi:
        for frame in frames:
            console.out(frame)
    elif render is Render.gif:
        _write_gif(frames, output, env.metadata.get("render_fps", 30))
        console.print(f"wrote {output} ({len(frames)} frames)")


def _write_gif(frames: list[Any], output: Path, fps: float) -> None:
    from PIL import Image

    images = [Image.fromarray(np.asarray(frame)) for frame in frames]
    images[0].save(output, save_all=True, append_images=images[1:], duration=1000 / fps, loop=0)


def _show(console: Console, results: list[tuple[float, int]]) -> None:
    table = Table("episode", "return", "steps")
    for number, (total, steps) in enumerate(results, 1):
        table.add_row(str(number), f"{total:.2f}", str(steps))
    console.print(table)
    returns = np.array([total for total, _ in results])
    console.print(
        f"mean return {returns.mean():.2f} ± {returns.std():.2f} over {len(returns)} episodes"
    )
