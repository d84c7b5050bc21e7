"""The command line application and its commands."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import typer
from typer.core import TyperCommand

from envwire.conformance.client_command import conformance_client
from envwire.conformance.command import conformance
from envwire.server._version import VERSION
from envwire.server.cli._author.check import check
from envwire.server.cli._author.info import info
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
from envwire.server.cli._serve.dashboard import dashboard
from envwire.server.cli._serve.farm import farm, gateway
from envwire.server.cli._serve.image import image
from envwire.server.cli._serve.serve import EPILOG, serve

#: Text that Rich would interpret as markup.
_TAG = re.compile(r"(\[[a-z#/@][^[]*?])")
#: The end of a line within a paragraph.
_LINE_END = re.compile(r"(?<!\n)\n *(?!\s)")


class _Literal(TyperCommand):
    """A command whose help is shown literally, since Rich would drop the brackets of envwire[otel].

    Its paragraphs are filled: typer breaks the lines of all but the first where the source does.
    """

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.help = _LINE_END.sub(" ", self.help or "")
        shown: list[Any] = [self, *self.params]
        for each in shown:
            each.help = _TAG.sub(r"\\\1", each.help or "")


#: Commands, in the order of the help, under the title of the panel that shows them.
_PANELS: dict[str, tuple[Callable[..., None], ...]] = {
    "Serve": (serve, gateway, dashboard, image),
    "Drive environments": (run, evaluate_policy, bench),
    "Look at servers": (list_environments, health, doctor, sessions, top, watch, drain),
    "Write environments, servers and clients": (info, check, conformance, conformance_client),
    "Recordings": (export, replay),
    "Access": (certs, token),
}
#: Names of commands whose functions have others.
_NAMES = {list_environments: "list", evaluate_policy: "eval"}
_EPILOGS = {serve: EPILOG, gateway: EPILOG}

app = typer.Typer(
    name="envwire",
    help="Serve reinforcement-learning environments, and drive them from anywhere.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for panel, commands in _PANELS.items():
    for each in commands:
        add = app.command(
            _NAMES.get(each), cls=_Literal, epilog=_EPILOGS.get(each), rich_help_panel=panel
        )
        add(each)
app.add_typer(farm, name="farm", rich_help_panel="Serve")
for registered in farm.registered_commands:
    registered.cls = _Literal


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
