"""Makes a command's options from the fields of a settings class."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Annotated, Any

import typer

from envwire.server._settings.setting import Setting
from envwire.server.cli._parameters import complete_env_id

#: The option of each command that takes settings.
ConfigFile = Annotated[
    str,
    typer.Option(
        help="TOML file of settings; the variable ENVWIRE_CONFIG names one as well.",
        metavar="FILE",
        hidden=True,
    ),
]


#: The settings that most people set, of servers and gateways: `--help` shows these, `--help-all` every one.
_COMMON = frozenset(
    {
        "environments",
        "imports",
        "dev",
        "host",
        "port",
        "program",
        "max_sessions",
        "record",
        "tokens",
        "tls_cert",
        "tls_key",
        "join",
        "server_ca",
        "quota",
    }
)


def _show_all(ctx: typer.Context, wanted: bool) -> None:
    """Shows the help with all options."""
    if wanted:
        hidden = [each for each in ctx.command.params if getattr(each, "hidden", False)]
        for each in hidden:
            each.hidden = False  # type: ignore[attr-defined]
        typer.echo(ctx.get_help())
        for each in hidden:
            each.hidden = True  # type: ignore[attr-defined]
        raise typer.Exit


_HELP_ALL: Any = typer.Option(
    "--help-all",
    help="Show all options and exit.",
    callback=_show_all,
    is_eager=True,
    expose_value=False,
)
_HelpAll = inspect.Parameter(
    "help_all", inspect.Parameter.KEYWORD_ONLY, default=False, annotation=Annotated[bool, _HELP_ALL]
)


def given(ctx: typer.Context, options: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the options that were given on the command line."""
    sources = {name: ctx.get_parameter_source(name) for name in options}
    return {name: options[name] for name, at in sources.items() if at and at.name == "COMMANDLINE"}


def _parameter(setting: Setting) -> inspect.Parameter:
    """Returns the parameter from which typer makes a setting's option or argument."""
    about, kind, default = setting.about, setting.kind.option, setting.default
    names = f"{setting.option}/--no-{setting.option[2:]}" if kind is bool else setting.option
    info: Any = typer.Option(
        names, help=about.help, rich_help_panel=about.theme, hidden=setting.name not in _COMMON
    )
    if setting.name == "environments":
        info = typer.Argument(
            help=about.help, metavar=names, show_default=False, autocompletion=complete_env_id
        )
    if kind == list[str]:
        kind, default = list[str] | None, None
    annotation, keyword = Annotated[kind, info], inspect.Parameter.KEYWORD_ONLY
    return inspect.Parameter(setting.name, keyword, default=default, annotation=annotation)


def take_settings(command: Callable[..., None], settings: Mapping[str, Setting]) -> None:
    """Gives a command an option for each setting, in place of its `**options` and before its own.

    Args:
        command: The command; its first parameter is the context, the others are keywords.
        settings: The settings.
    """
    context, *own, _ = inspect.signature(command, eval_str=True).parameters.values()
    options = (_parameter(each) for each in settings.values() if each.kind.option is not None)
    parameters = [context, *options, *own, _HelpAll]
    # typer reads the options from the signature and the annotations.
    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {one.name: one.annotation for one in parameters}
