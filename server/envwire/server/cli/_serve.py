"""`envwire serve`: host environments until told to stop."""

from __future__ import annotations

import inspect
import logging
import os
import sys
from typing import Annotated, Any

import typer

from envwire.server._settings.setting import Setting
from envwire.server._settings.sources import gather
from envwire.server.config import SETTINGS, ServerConfig

EPILOG = (
    "Each option may also be set by an environment variable (--max-sessions: ENVWIRE_MAX_SESSIONS) or in a TOML file "
    "(max_sessions = 8, imports = ['module']). An option is stronger than a variable, and a variable than the file."
)


def serve(ctx: typer.Context, config: str, **options: Any) -> None:
    """Host ENVIRONMENTS until SIGTERM or Ctrl-C.

    Prints "ready: HOST:PORT" when clients can connect. The first SIGTERM lets running sessions finish, the second
    does not.
    """
    from envwire.server._processes.forkserver import ForkserverError
    from envwire.server.serving import run

    logging.basicConfig(
        level=logging.INFO,
        format="%(asctime)s %(levelname)s %(name)s: %(message)s",
        stream=sys.stderr,
    )
    given = {name: value for name, value in options.items() if _is_given(ctx, name)}
    try:
        settings = gather(SETTINGS, given, os.environ, config)
        settings.setdefault("environments", ())
        run(
            ServerConfig(**settings, sys_path=(os.getcwd(),)),
            lambda target: print(f"ready: {target}", flush=True),
        )
    except (ValueError, OSError, ForkserverError) as error:
        typer.echo(f"envwire serve: {error}", err=True)
        raise typer.Exit(1) from None


def _is_given(ctx: typer.Context, name: str) -> bool:
    source = ctx.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"


def _parameter(setting: Setting) -> inspect.Parameter:
    """Returns the parameter from which typer makes the option of a setting, or the argument."""
    about, kind, default = setting.about, setting.kind.option, setting.default
    names = f"{setting.option}/--no-{setting.option[2:]}" if kind is bool else setting.option
    info: Any = typer.Option(names, help=about.help, rich_help_panel=about.group)
    if setting.name == "environments":
        info = typer.Argument(help=about.help, metavar=names, show_default=False)
    if kind == list[str]:
        kind, default = list[str] | None, None
    return _keyword(setting.name, default, Annotated[kind, info])


def _keyword(name: str, default: Any, annotation: Any) -> inspect.Parameter:
    kind = inspect.Parameter.KEYWORD_ONLY
    return inspect.Parameter(name, kind, default=default, annotation=annotation)


_CONFIG_HELP = "TOML file of settings; the variable ENVWIRE_CONFIG names one, too."
_PARAMETERS = [
    inspect.Parameter("ctx", inspect.Parameter.POSITIONAL_ONLY, annotation=typer.Context),
    *map(_parameter, SETTINGS.values()),
    _keyword("config", "", Annotated[str, typer.Option(help=_CONFIG_HELP, metavar="FILE")]),
]

# typer reads the options from the signature and the annotations.
serve.__signature__ = inspect.Signature(_PARAMETERS)  # type: ignore[attr-defined]
serve.__annotations__ = {one.name: one.annotation for one in _PARAMETERS}
