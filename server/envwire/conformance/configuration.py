"""Settings of a run, from a TOML file and the command line."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import dataclass, field, fields
from importlib import import_module
from pathlib import Path
from typing import Any, cast


@dataclass(frozen=True)
class Configuration:
    """Settings of a run; the keys of its TOML file have the same names.

    Attributes:
        token: Token to send.
        observe_token: One of scope "observe" alone.
        stop: Command that tells the server to stop, for the profile "drain", which comes last.
        ca: PEM file of the authority that signed the server's certificate.
        cert: PEM file of the client's certificate.
        key: PEM file of its key.
        seconds: Longest wait, in seconds.
        profiles: Profiles to check; empty for those that the server offers.
        skip: Patterns of checks to skip.
        known_failing: Patterns of checks that are known to fail.
        environments: Ids to use for the suite's environments, by their short names.
    """

    token: str = ""
    observe_token: str = ""
    stop: str = ""
    ca: str = ""
    cert: str = ""
    key: str = ""
    seconds: float = 10.0
    profiles: tuple[str, ...] = ()
    skip: tuple[str, ...] = ()
    known_failing: tuple[str, ...] = ()
    environments: dict[str, str] = field(default_factory=dict[str, str])


def read_configuration(path: Path | None) -> Configuration:
    """Reads a TOML file; without one, the defaults.

    Raises:
        ValueError: The file is not TOML, or has an unknown key.
    """
    if path is None:
        return Configuration()
    toml = import_module("tomllib" if sys.version_info >= (3, 11) else "tomli")
    found: dict[str, Any] = toml.loads(path.read_text(encoding="utf-8"))
    unknown = found.keys() - {one.name for one in fields(Configuration)}
    if unknown:
        raise ValueError(f"{path}: unknown keys {', '.join(sorted(unknown))}")
    frozen: dict[str, Any] = {
        key: tuple(cast("list[str]", each)) if isinstance(each, list) else each
        for key, each in found.items()
    }
    return Configuration(**frozen)


def read_patterns(path: Path | None) -> Iterable[str]:
    """Returns the lines of a file, except empty ones and comments."""
    lines = path.read_text(encoding="utf-8").splitlines() if path else []
    return tuple(kept for one in lines if (kept := one.partition("#")[0].strip()))
