"""A setting: a dataclass field with metadata, `lease: float = setting("Limits", 60.0, "How long ...", POSITIVE)`.

Values come from the command line, environment variables, a file and the defaults, in this order.
"""

from __future__ import annotations

import difflib
import sys
from collections.abc import Iterable, Mapping
from dataclasses import MISSING, Field, dataclass, field, fields
from importlib import import_module
from pathlib import Path
from typing import Any, TypeVar, get_type_hints

from envwire.server._settings.checks import ANYTHING, KINDS, Check, ValueKind

#: Prefix of the environment variables of settings.
PREFIX = "ENVWIRE_"
#: Key of a setting's `About` in the metadata of its field.
ABOUT = "about"

#: Settings that servers had once.
_MOVED = {
    "groups": "groups are kinds of servers, which `envwire farm up --config FILE` runs; see docs/on-demand.md",
}
_T = TypeVar("_T")


@dataclass(frozen=True)
class About:
    """Metadata of a setting, besides its name, type and default.

    Attributes:
        theme: Panel of `envwire serve --help`, and section of the documentation.
        help: Description for operators, in a sentence or two.
        check: Condition on its value.
        option: The command-line option, if it is not the name with dashes.
    """

    theme: str
    help: str
    check: Check = ANYTHING
    option: str = ""


@dataclass(frozen=True)
class Setting:
    """One setting, for all sources of settings and for the documentation.

    Attributes:
        name: The keyword of `Server`, and the key in a file.
        kind: Its type.
        default: Its value if no source gives one.
        about: Its metadata.
    """

    name: str
    kind: ValueKind
    default: Any
    about: About

    @property
    def option(self) -> str:
        """The command-line option, such as "--max-sessions"."""
        return self.about.option or "--" + self.name.replace("_", "-")

    @property
    def variable(self) -> str:
        """The environment variable, such as "ENVWIRE_MAX_SESSIONS"."""
        return PREFIX + self.name.upper()

    def check(self, value: Any) -> None:
        """Checks a value of the setting.

        Raises:
            ValueError: The value is invalid; the message names the option and what is expected.
        """
        for check in (self.kind.check, self.about.check):
            if not check.holds(value):
                raise ValueError(
                    f"{self.name} ({self.option}) is {value!r}; it must be {check.expected}"
                )


def setting(theme: str, default: _T, text: str, check: Check = ANYTHING, option: str = "") -> _T:
    """Returns the field of a setting with this default; `About` describes the other arguments."""
    about = About(theme, text, check, option)
    return field(default=default, metadata={ABOUT: about})


def settings_of(config: type) -> dict[str, Setting]:
    """Returns the settings among a dataclass's fields by name, in their order."""
    kinds = get_type_hints(config)
    return {
        each.name: Setting(each.name, KINDS[kinds[each.name]], _default(each), each.metadata[ABOUT])
        for each in fields(config)
        if ABOUT in each.metadata
    }


def _default(each: Field[Any]) -> Any:
    return each.default if each.default_factory is MISSING else each.default_factory()


def check_all(settings: Mapping[str, Setting], config: object) -> None:
    """Checks the value of each setting.

    Raises:
        ValueError: A value is invalid.
    """
    for name, setting in settings.items():
        setting.check(getattr(config, name))


def check_known(names: Iterable[str], settings: Iterable[str]) -> None:
    """Refuses names that are not settings.

    Raises:
        ValueError: A name is unknown; the message suggests the closest one, or says what has the setting now.
    """
    known = list(settings)
    for name in names:
        if name in _MOVED and name not in known:
            raise ValueError(_MOVED[name])
        if name not in known:
            near = difflib.get_close_matches(name.replace("-", "_"), known, n=1)
            hint = f"did you mean {near[0]}?" if near else "`envwire serve --help-all` lists them"
            raise ValueError(f"unknown setting {name!r}; {hint}")


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
        ValueError: A variable has an invalid value, or is of a setting that servers had once.
    """
    check_known([name for name in _MOVED if environment.get(PREFIX + name.upper())], settings)
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
