"""Settings of a run, from a TOML file and the command line."""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field, fields
from importlib import import_module
from pathlib import Path
from typing import Any, cast

from envwire.conformance.raw import Access, Operator


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
        ValueError: The file is not TOML, or has an unknown key.
    """
    if path is None:
        return Configuration(Access(target))
    toml = import_module("tomllib" if sys.version_info >= (3, 11) else "tomli")
    found: dict[str, Any] = toml.loads(path.read_text(encoding="utf-8"))
    table = found.pop("operator", {})
    operator = Operator(**_taken(table, Operator))
    access = Access(target, operator=operator, **_taken(found, Access, but=("target", "operator")))
    settings = _taken(found, Configuration, but=("access",))
    if unknown := sorted([*found, *(f"operator.{name}" for name in table)]):
        raise ValueError(f"{path}: unknown keys {', '.join(unknown)}")
    return Configuration(access, **settings)


def _taken(found: dict[str, Any], kind: type[Any], but: Collection[str] = ()) -> dict[str, Any]:
    """Removes the fields of a dataclass from a table, and returns them."""
    names = [one.name for one in fields(kind) if one.name in found and one.name not in but]
    return {name: _frozen(found.pop(name)) for name in names}


def _frozen(value: Any) -> Any:
    return tuple(cast("list[str]", value)) if isinstance(value, list) else value


def read_patterns(path: Path | None) -> Iterable[str]:
    """Returns the lines of a file, except empty ones and comments."""
    lines = path.read_text(encoding="utf-8").splitlines() if path else []
    return tuple(kept for one in lines if (kept := one.partition("#")[0].strip()))
