"""The command line application: the commands of the core, and those of other distributions, which entry points name.

Nothing here imports what stands beside the core. Entry points are read when the help lists all commands, or a name is
none of the core's, so that `envwire serve` does not read the metadata of every installed package.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import suppress
from importlib.metadata import EntryPoint, entry_points
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command

from envwire.server.cli._author.check import check
from envwire.server.cli._author.info import info
from envwire.server.cli._drive.bench import bench
from envwire.server.cli._drive.eval import evaluate_policy
from envwire.server.cli._drive.run import run
from envwire.server.cli._failures import USAGE, stop
from envwire.server.cli._image import image
from envwire.server.cli._inspect.health import doctor, health
from envwire.server.cli._inspect.list import list_environments
from envwire.server.cli._inspect.sessions import drain, sessions
from envwire.server.cli._inspect.top import top
from envwire.server.cli._inspect.watch import watch
from envwire.server.cli._recordings.export import export
from envwire.server.cli._recordings.replay import replay
from envwire.server.cli._secure import certs, token
from envwire.server.cli._serve import EPILOG, serve
from envwire.wire.version import VERSION

#: The group of the entry points. Each names a function for typer, or a `Typer`.
GROUP = "envwire.commands"
#: Commands, in the order of the help, under the title of the panel that shows them.
PANELS = {
    "Serve": ("serve", "farm", "dashboard", "image"),
    "Drive environments": ("run", "eval", "bench"),
    "Look at servers": ("list", "health", "doctor", "sessions", "top", "watch", "drain"),
    "Write environments, servers and clients": ("info", "check", "conformance"),
    "Recordings": ("export", "replay"),
    "Access": ("certs", "token"),
}
_PANEL = {name: panel for panel, names in PANELS.items() for name in names}
_RANK = {name: rank for rank, name in enumerate(_PANEL)}
#: Commands of other distributions, and the extra of `envwire` that installs each.
_EXTRAS = {"farm": "farm", "dashboard": "dashboard", "conformance": "conformance"}
#: Text that Rich would interpret as markup.
_TAG = re.compile(r"(\[[a-z#/@][^[]*?])")
#: The end of a line within a paragraph.
_LINE_END = re.compile(r"(?<!\n)\n *(?!\s)")


class Literal(TyperCommand):
    """A command whose help is shown literally, since Rich would drop the brackets of envwire[otel].

    Its paragraphs are filled: typer breaks the lines of all but the first where the source does.
    """

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.help = _LINE_END.sub(" ", self.help or "")
        shown: list[Any] = [self, *self.params]
        for each in shown:
            each.help = _TAG.sub(r"\\\1", each.help or "")


class Commands(TyperGroup):
    """The commands of the core and of other distributions."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Returns all names in the order of the help; those that `PANELS` lacks come last."""
        for point in self._installed():
            with suppress(
                ImportError, AttributeError
            ):  # it still fails, with the reason, when it is called
                self._add(point)
        return sorted(super().list_commands(ctx), key=lambda name: _RANK.get(name, len(_RANK)))

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Finds a command; tells what installs one that is missing."""
        name = args[0]
        for point in self._installed():
            if point.name == name:
                self._add(point)
        if name in _EXTRAS and name not in self.commands and not ctx.resilient_parsing:
            extra = _EXTRAS[name]
            command = f"pip install 'envwire[{extra}]', or in a clone: pip install ./{extra}"
            stop(name, f"not installed; run: {command}", USAGE)
        return super().resolve_command(ctx, args)

    def _installed(self) -> list[EntryPoint]:
        """Returns the commands of other distributions; none of them replaces one of the core."""
        return [point for point in entry_points(group=GROUP) if point.name not in self.commands]

    def _add(self, point: EntryPoint) -> None:
        self.commands[point.name] = _made(point.name, point.load())


def _made(name: str, loaded: Any) -> Any:
    """Returns the command of an entry point."""
    made = loaded
    if not isinstance(loaded, typer.Typer):
        made = typer.Typer(add_completion=False)
        made.command(name)(loaded)
    for each in made.registered_commands:
        each.cls = Literal
    command: Any = get_command(made)
    command.name, command.rich_help_panel = name, panel_of(name)
    return command


def panel_of(name: str) -> str | None:
    """Returns the title of the panel that shows a command; None for one that `PANELS` lacks."""
    return _PANEL.get(name)


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
