"""`envwire run`: drive a remote environment from a terminal."""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import Annotated

import typer


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
        str, typer.Option(help="How to talk to the server: direct, stream or unary.")
    ] = "direct",
    render: Annotated[
        Render | None, typer.Option(help="Show the first episode: as text, or as a GIF.")
    ] = None,
    output: Annotated[Path, typer.Option(help="Where --render gif writes.")] = Path("episode.gif"),
    max_steps: Annotated[
        int, typer.Option(min=1, help="Steps after which an episode is cut.")
    ] = 10_000,
) -> None:
    """Run a random or scripted agent on ENV_ID at TARGET and show the returns."""
    from envwire.client import RemoteEnv, RemoteError
    from envwire.server.cli._episodes import Film, choose_policy, run_episodes

    try:
        env = RemoteEnv(
            target, env_id, render_mode=_MODES[render] if render else None, transport=transport
        )
        try:
            film = Film(render, output) if render else None
            run_episodes(env, choose_policy(agent, env, seed), episodes, seed, max_steps, film)
        finally:
            env.close()
    except (RemoteError, LookupError, ValueError, ImportError) as error:
        typer.echo(f"envwire run: {error}", err=True)
        raise typer.Exit(1) from None
    except Exception as error:
        typer.echo(f"envwire run: the environment raised {type(error).__name__}: {error}", err=True)
        raise typer.Exit(1) from None
