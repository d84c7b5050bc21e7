"""Merges settings from the command line, environment variables, a file and the defaults, in this order."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from envwire.server._settings.setting import PREFIX, Setting, check_known

Settings = Mapping[str, Setting]

#: Variable that names the settings file, unless the command line does.
CONFIG_VARIABLE = PREFIX + "CONFIG"


def gather(
    settings: Settings, given: Mapping[str, Any], environment: Mapping[str, str], file: str = ""
) -> dict[str, Any]:
    """Returns the values that an operator gave, each from the first source that has it.

    Args:
        settings: All settings.
        given: Values from the command line.
        environment: The environment variables.
        file: The TOML file; empty for the one that ENVWIRE_CONFIG names, if any.

    Raises:
        ValueError: A value or a name is invalid; the message names the source.
        OSError: The file cannot be read.
    """
    file = file or environment.get(CONFIG_VARIABLE, "")
    try:
        from_file = read_file(settings, Path(file)) if file else {}
    except FileNotFoundError:
        raise ValueError(
            f"there is no file {file}; --config or {CONFIG_VARIABLE} names one"
        ) from None
    return {**from_file, **read_environment(settings, environment), **given}


def read_file(settings: Settings, path: Path) -> dict[str, Any]:
    """Reads a TOML file whose keys are names of settings.

    Raises:
        ValueError: The file is not TOML, or has an unknown key or an invalid value.
        OSError: The file cannot be read.
    """
    toml = import_module("tomllib" if sys.version_info >= (3, 11) else "tomli")
    try:
        values: dict[str, Any] = toml.loads(path.read_text(encoding="utf-8"))
        check_known(values, settings)
        for name, value in values.items():
            settings[name].check(value)
    except ValueError as error:  # TOMLDecodeError and UnicodeDecodeError are ValueErrors
        raise ValueError(f"{path}: {error}") from error
    return values


def read_environment(settings: Settings, environment: Mapping[str, str]) -> dict[str, Any]:
    """Reads the variables of settings; lists are separated by white space, and an empty variable counts as unset.

    Raises:
        ValueError: A variable has an invalid value.
    """
    return {
        name: _parse(setting, text)
        for name, setting in settings.items()
        if (text := environment.get(setting.variable)) and not _of_kubernetes(text)
    }


def _of_kubernetes(text: str) -> bool:
    """Whether Kubernetes set the variable: ENVWIRE_PORT=tcp://10.0.0.1:50051 for a service named envwire."""
    return text.startswith(("tcp://", "udp://"))


def _parse(setting: Setting, text: str) -> Any:
    try:
        value = setting.kind.parse(text)
    except ValueError:
        expected = setting.kind.check.expected
        raise ValueError(f"{setting.variable} is {text!r}; it must be {expected}") from None
    try:
        setting.check(value)
    except ValueError as error:
        raise ValueError(f"{setting.variable}: {error}") from None
    return value
