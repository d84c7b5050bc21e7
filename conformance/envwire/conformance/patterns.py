"""Patterns of names of checks and scenarios."""

from __future__ import annotations

from collections.abc import Iterable
from fnmatch import fnmatchcase


def fits(name: str, patterns: Iterable[str]) -> bool:
    """Returns whether a name matches a pattern: * and ? as in a shell; brackets are literal."""
    return any(fnmatchcase(name, pattern.replace("[", "[[]")) for pattern in patterns)
