"""Settings of a run, from a TOML file and the command line."""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterable
from dataclasses import MISSING, Field, dataclass, field, fields
from importlib import import_module
from pathlib import Path
from typing import Any, cast

from envwire.conformance.raw import Access, Operator

#: What a file has for a field, by the type of its default, and how an error words it.
_FORMS: dict[type, tuple[Any, str]] = {
    bool: (bool, "true or false"),
    int: (int, "a whole number"),
    float: ((int, float), "a number"),
    str: (str, "a text"),
    tuple: (list, "a list"),
    dict: (dict, "a table"),
}


@dataclass(frozen=True)
class Configuration:
    """Settings of a run. The keys of its TOML file have the same names, and those of `Access` and `Operator`.

    Attributes:
        access: How to reach the server.
        seconds: Longest wait, in seconds.
        profiles: Profiles to check; empty for those that the server offers.
        skip: Patterns of checks to skip.
        known_failing: Patterns of checks that are known to fail.
        environments: Ids to use for the suite's environments, by their short names.
    """

    access: Access
    seconds: float = 10.0
    profiles: tuple[str, ...] = ()
    skip: tuple[str, ...] = ()
    known_failing: tuple[str, ...] = ()
    environments: dict[str, str] = field(default_factory=dict[str, str])


def read_configuration(path: Path | None, target: str) -> Configuration:
    """Reads a TOML file about a server; without one, the defaults.

    Raises:
        ValueError: The file is not TOML, or has an unknown key or a value of another type.
    """
    if path is None:
        return Configuration(Access(target))
    toml = import_module("tomllib" if sys.version_info >= (3, 11) else "tomli")
    try:
        return _configuration(toml.loads(path.read_text(encoding="utf-8")), target)
    except ValueError as error:  # TOMLDecodeError and UnicodeDecodeError are ValueErrors
        raise ValueError(f"{path}: {error}") from error


def _configuration(found: dict[str, Any], target: str) -> Configuration:
    table = found.pop("operator", {})
    if not isinstance(table, dict):
        raise ValueError(f"operator is {table!r}; it must be a table")
    of_operator = cast("dict[str, Any]", table)
    operator = Operator(**_taken(of_operator, Operator))
    access = Access(target, operator=operator, **_taken(found, Access, but=("target", "operator")))
    settings = _taken(found, Configuration, but=("access",))
    if unknown := sorted([*found, *(f"operator.{name}" for name in of_operator)]):
        raise ValueError(f"unknown keys {', '.join(unknown)}")
    return Configuration(access, **settings)


def _taken(found: dict[str, Any], kind: type[Any], but: Collection[str] = ()) -> dict[str, Any]:
    """Removes the fields of a dataclass from a table, and returns them."""
    taken = [one for one in fields(kind) if one.name in found and one.name not in but]
    return {one.name: _checked(one, found.pop(one.name)) for one in taken}


def _checked(one: Field[Any], value: Any) -> Any:
    default = one.default if one.default_factory is MISSING else one.default_factory()
    wanted, expected = _FORMS[type(default)]
    if not isinstance(value, wanted):
        raise ValueError(f"{one.name} is {value!r}; it must be {expected}")
    return tuple(cast("list[str]", value)) if isinstance(value, list) else value


def read_patterns(path: Path | None) -> Iterable[str]:
    """Returns the lines of a file, except empty ones and comments."""
    lines = path.read_text(encoding="utf-8", errors="replace").splitlines() if path else []
    return tuple(kept for one in lines if (kept := one.partition("#")[0].strip()))
