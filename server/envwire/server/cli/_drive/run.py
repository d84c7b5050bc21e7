"""`envwire run`: runs a policy on a remote environment."""

from __future__ import annotations

from contextlib import closing
from enum import Enum
from pathlib import Path
from typing import Annotated

import typer

from envwire.server.cli import _parameters as shared
from envwire.server.cli._failures import USAGE, reporting, stop


class Render(str, Enum):
    """How to show the first episode."""

    ansi = "ansi"
    gif = "gif"


_MODES = {Render.ansi: "ansi", Render.gif: "rgb_array"}


_Episodes = Annotated[int, typer.Option(min=1, help="Episodes to run.")]
_Seed = Annotated[int, typer.Option(min=0, help="Seed of environment and actions.")]
_Policy = Annotated[
    str,
    typer.Option(
        help="'random', or module:function that maps an observation to an action, or it and the action space."
    ),
]
_Rendering = Annotated[
    Render | None, typer.Option(help="Show the first episode: as text, or as a GIF.")
]
_Output = Annotated[
    Path, typer.Option(help="Where --render gif writes.", callback=shared.check_output)
]


def run(
    target: shared.TargetOrHere,
    env_id: shared.EnvId,
    episodes: _Episodes = 10,
    seed: _Seed = 0,
    policy: _Policy = "random",
    transport: shared.TransportName = "direct",
    render: _Rendering = None,
    output: _Output = Path("episode.gif"),
    max_steps: shared.MaxSteps = 10_000,
    kwarg: shared.Kwargs = None,
    wrapper: shared.Wrappers = None,
    library: shared.Library = "",
    imports: shared.Imports = None,
) -> None:
    """Run a policy, the random one or a function, on ENV_ID at TARGET and show the returns.

    Example: envwire run localhost:50051 CartPole-v1 --episodes 5
    """
    from envwire.client import RemoteEnv
    from envwire.server.cli._drive.evaluation import FrameRecorder, run_episodes
    from envwire.server.cli._drive.own_code import in_process, load_policy

    with reporting("run"):
        options = shared.making(kwarg, wrapper, library, transport)
        here = target == shared.IN_PROCESS
        if here:
            names = [name for name, _ in options["wrappers"]]
            options["transport"] = in_process(env_id, imports or (), names)
        elif imports:
            stop(
                "run",
                "--import goes with the target in-process; a server imports what `envwire serve --import` names",
                USAGE,
            )
        mode = _MODES[render] if render else None
        address = None if here else target
        with closing(RemoteEnv(address, env_id, render_mode=mode, **options)) as env:
            recorder = FrameRecorder(render, output) if render else None
            run_episodes(
                env, load_policy(policy), episodes, seed, max_steps, recorder, bar=not here
            )
