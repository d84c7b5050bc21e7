"""The command line application, and the commands of the core."""

from __future__ import annotations

from collections.abc import Callable

import typer

from envwire.server._version import VERSION
from envwire.server.cli._author.check import check
from envwire.server.cli._author.info import info
from envwire.server.cli._commands import Commands, Literal, panel_of
from envwire.server.cli._drive.bench import bench
from envwire.server.cli._drive.eval import evaluate_policy
from envwire.server.cli._drive.run import run
from envwire.server.cli._inspect.health import doctor, health
from envwire.server.cli._inspect.list import list_environments
from envwire.server.cli._inspect.sessions import drain, sessions
from envwire.server.cli._inspect.top import top
from envwire.server.cli._inspect.watch import watch
from envwire.server.cli._recordings.export import export
from envwire.server.cli._recordings.replay import replay
from envwire.server.cli._secure import certs, token
from envwire.server.cli._serve.image import image
from envwire.server.cli._serve.serve import EPILOG, serve

#: The commands of the core; `PANELS` has their order.
_CORE: dict[str, Callable[..., None]] = {
    "serve": serve,
    "image": image,
    "run": run,
    "eval": evaluate_policy,
    "bench": bench,
    "list": list_environments,
    "health": health,
    "doctor": doctor,
    "sessions": sessions,
    "top": top,
    "watch": watch,
    "drain": drain,
    "info": info,
    "check": check,
    "export": export,
    "replay": replay,
    "certs": certs,
    "token": token,
}

app = typer.Typer(
    name="envwire",
    cls=Commands,
    help="Serve reinforcement-learning environments, and drive them from anywhere.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for name, command in _CORE.items():
    add = app.command(
        name,
        cls=Literal,
        epilog=EPILOG if command is serve else None,
        rich_help_panel=panel_of(name),
    )
    add(command)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"envwire {VERSION}")
        raise typer.Exit


@app.callback()
def _options(
    version: bool = typer.Option(
        False, "--version", callback=_show_version, is_eager=True, help="Show the version and exit."
    ),
) -> None:
    """Holds the options of the command itself."""
