"""`envwire eval`: evaluates a policy over many episodes on a server."""

from __future__ import annotations

import importlib.util
import json
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from envwire.server._grammar import counted
from envwire.server.cli import _parameters as shared
from envwire.server.cli._failures import reporting

_MAX_SHARDS = 256


def _check_plot(path: Path) -> None:
    """Checks before the episodes are played that their plot can be made."""
    if importlib.util.find_spec("matplotlib") is None:
        raise OSError("matplotlib is not installed; --plot needs: pip install matplotlib")
    shared.check_directory(path)


def evaluate_policy(
    target: shared.Target,
    env_id: shared.EnvId,
    policy: Annotated[
        str,
        typer.Option(
            help="'random', or module:function that maps an observation, or an observation and the action space, to an "
            "action. Shards call it side by side."
        ),
    ] = "random",
    episodes: Annotated[int, typer.Option(min=1, help="Episodes to play.")] = 100,
    shards: Annotated[
        int, typer.Option(min=1, max=_MAX_SHARDS, help="Environments that play side by side.")
    ] = 4,
    seed: Annotated[int, typer.Option(min=0, help="What all seeds are derived from.")] = 0,
    as_json: Annotated[
        Path | None,
        typer.Option(
            "--json",
            help="File for all results; - prints them alone.",
            callback=shared.check_output,
        ),
    ] = None,
    plot: Annotated[
        Path | None,
        typer.Option(
            help="PNG of the returns to write (needs matplotlib).",
            callback=shared.checked(_check_plot),
        ),
    ] = None,
    max_steps: shared.MaxSteps = 10_000,
    transport: shared.TransportName = "direct",
    kwarg: shared.Kwargs = None,
    wrapper: shared.Wrappers = None,
    library: shared.Library = "",
) -> None:
    """Play episodes of ENV_ID at TARGET with a policy, and show its mean return with a confidence interval.

    The result is the same with any number of shards: each episode has its own seed and counts once.

    Example: envwire eval localhost:50051 CartPole-v1 --episodes 100
    """
    from envwire.client import RemoteEnv
    from envwire.server.cli._console import OperatorConsole
    from envwire.server.cli._drive.evaluation import Plan, episode_bar, evaluate, summary
    from envwire.server.cli._drive.own_code import load_policy

    with reporting("eval"):
        make = partial(
            RemoteEnv, target, env_id, **shared.making(kwarg, wrapper, library, transport)
        )
        plan = Plan(load_policy(policy), episodes, seed, max_steps)
        with episode_bar(OperatorConsole(stderr=True)) as progress:
            task = progress.add_task("episodes", total=episodes)
            results = evaluate(plan, make, shards, partial(progress.advance, task))
        told = {"env_id": env_id, "policy": policy, "seed": seed, **summary(results, seed)}
        _write(told, as_json, plot)


def _write(told: dict[str, Any], as_json: Path | None, plot: Path | None) -> None:
    text = json.dumps(told, indent=1)
    alone = str(as_json) == "-"
    if alone:
        typer.echo(text)
    else:
        _show(told)
    if as_json is not None and not alone:
        as_json.write_text(text + "\n", encoding="utf-8")
        typer.echo(f"wrote {as_json}")
    if plot is not None:
        _plot(told, plot)
        typer.echo(f"wrote {plot}", err=alone)


def _show(told: dict[str, Any]) -> None:
    import numpy as np
    from rich.table import Table

    from envwire.server.cli._console import OperatorConsole, print_whole
    from envwire.server.cli._drive.evaluation import histogram

    console = OperatorConsole()
    count = len(told["episodes"])
    table = Table(
        title=f"{told['policy']} on {told['env_id']}: {counted(count, 'episode')}, seed {told['seed']}"
    )
    for column in ("", "mean", "95 % interval", "std", "min", "median", "max"):
        table.add_column(column, justify="left" if not column else "right")
    for name in ("return", "length"):
        row = told[name]
        low, high = row["ci95"]
        numbers = (f"{row[key]:.2f}" for key in ("std", "min", "median", "max"))
        table.add_row(name, f"{row['mean']:.2f}", f"{low:.2f} to {high:.2f}", *numbers)
    print_whole(table, console)
    console.print(", ".join(f"{number} {end}" for end, number in told["ends"].items()))
    for line in histogram(np.array([episode["total"] for episode in told["episodes"]])):
        console.out(line)


def _plot(told: dict[str, Any], path: Path) -> None:
    """Plots the returns and the confidence interval of their mean."""
    figure_module: Any = importlib.import_module("matplotlib.figure")
    figure = figure_module.Figure(figsize=(6, 3.5), layout="constrained")
    axes = figure.subplots()
    axes.hist([episode["total"] for episode in told["episodes"]], bins=30)
    axes.axvline(told["return"]["mean"], color="black")
    axes.axvspan(*told["return"]["ci95"], color="black", alpha=0.2)
    axes.set(xlabel="return", ylabel="episodes", title=f"{told['policy']} on {told['env_id']}")
    figure.savefig(path, dpi=150)
