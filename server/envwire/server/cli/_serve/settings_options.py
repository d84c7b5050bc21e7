"""Makes a command's options from the fields of a settings class."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Annotated, Any

import typer

from envwire.server._settings.setting import Setting
from envwire.server.cli._parameters import complete_env_id

_CONFIG_HELP = (
    "TOML file of settings, groups.NAME too; the variable ENVWIRE_CONFIG names one as well."
)


def given(ctx: typer.Context, options: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the options that were given on the command line."""
    sources = {name: ctx.get_parameter_source(name) for name in options}
    return {name: options[name] for name, at in sources.items() if at and at.name == "COMMANDLINE"}


def _parameter(setting: Setting) -> inspect.Parameter:
    """Returns the parameter from which typer makes a setting's option or argument."""
    about, kind, default = setting.about, setting.kind.option, setting.default
    names = f"{setting.option}/--no-{setting.option[2:]}" if kind is bool else setting.option
    info: Any = typer.Option(names, help=about.help, rich_help_panel=about.theme)
    if setting.name == "environments":
        info = typer.Argument(
            help=about.help, metavar=names, show_default=False, autocompletion=complete_env_id
        )
    if kind == list[str]:
        kind, default = list[str] | None, None
    return keyword(setting.name, default, Annotated[kind, info])


def keyword(name: str, default: Any, annotation: Any) -> inspect.Parameter:
    """Returns a keyword-only parameter."""
    kind = inspect.Parameter.KEYWORD_ONLY
    return inspect.Parameter(name, kind, default=default, annotation=annotation)


def take_settings(
    command: Callable[..., None], settings: Mapping[str, Setting], *others: inspect.Parameter
) -> None:
    """Gives a command an option for each setting, and `config`, the settings file.

    Args:
        command: The command; called with a context, `config` and the options as keywords.
        settings: The settings.
        others: Further options.
    """
    parameters = [
        inspect.Parameter("ctx", inspect.Parameter.POSITIONAL_ONLY, annotation=typer.Context),
        *(_parameter(each) for each in settings.values() if each.kind.option is not None),
        *others,
        keyword("config", "", Annotated[str, typer.Option(help=_CONFIG_HELP, metavar="FILE")]),
    ]
    # typer reads the options from the signature and the annotations.
    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {one.name: one.annotation for one in parameters}
