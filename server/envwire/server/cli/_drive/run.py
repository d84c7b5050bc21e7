"""`envwire run`: runs an agent on a remote environment."""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import Annotated

import typer

from envwire.server.cli._parameters import EnvId, Target


class Render(str, Enum):
    """How to show the first episode."""

    ansi = "ansi"
    gif = "gif"


_MODES = {Render.ansi: "ansi", Render.gif: "rgb_array"}


_Episodes = Annotated[int, typer.Option(min=1, help="Episodes to run.")]
_Seed = Annotated[int, typer.Option(min=0, help="Seed of environment and actions.")]
_Agent = Annotated[
    str, typer.Option(help="'random', or module:function that maps an observation to an action.")
]
_Transport = Annotated[
    str, typer.Option(help="How to talk to the server: direct, stream or unary.")
]
_Rendering = Annotated[
    Render | None, typer.Option(help="Show the first episode: as text, or as a GIF.")
]
_Output = Annotated[Path, typer.Option(help="Where --render gif writes.")]
_MaxSteps = Annotated[int, typer.Option(min=1, help="Steps after which an episode is cut.")]
_Arguments = Annotated[
    list[str] | None,
    typer.Option(
        help="Keyword argument of the environment, NAME=VALUE with VALUE in JSON or text."
    ),
]
_Wrappers = Annotated[
    list[str] | None,
    typer.Option(help="Wrapper on the server, innermost first: NAME, or NAME={JSON arguments}."),
]
_Library = Annotated[str, typer.Option(help="Library to take the id from; any by default.")]


def run(
    target: Target,
    env_id: EnvId,
    episodes: _Episodes = 10,
    seed: _Seed = 0,
    agent: _Agent = "random",
    transport: _Transport = "direct",
    render: _Rendering = None,
    output: _Output = Path("episode.gif"),
    max_steps: _MaxSteps = 10_000,
    kwarg: _Arguments = None,
    wrapper: _Wrappers = None,
    library: _Library = "",
) -> None:
    """Run a random or scripted agent on ENV_ID at TARGET and show the returns.

    Example: envwire run localhost:50051 CartPole-v1 --episodes 5
    """
    from envwire.client import RemoteEnv
    from envwire.server.cli._drive.arguments import keyword_arguments, wrapper_requests
    from envwire.server.cli._drive.episodes import Film, choose_policy, run_episodes
    from envwire.server.cli._failures import fail

    try:
        env = RemoteEnv(
            target,
            env_id,
            render_mode=_MODES[render] if render else None,
            wrappers=wrapper_requests(wrapper or ()),
            transport=transport,
            library=library or None,
            env_kwargs=keyword_arguments(kwarg or ()),
        )
        try:
            film = Film(render, output) if render else None
            run_episodes(env, choose_policy(agent, env, seed), episodes, seed, max_steps, film)
        finally:
            env.close()
    except Exception as error:
        fail("run", error)
