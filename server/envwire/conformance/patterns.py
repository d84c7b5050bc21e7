"""Patterns of names of checks and scenarios."""

from __future__ import annotations

from collections.abc import Iterable
from fnmatch import fnmatchcase


def fits(name: str, patterns: Iterable[str]) -> bool:
    """Returns whether a name fits one of the patterns: * and ? as in a shell, brackets as themselves."""
    return any(fnmatchcase(name, pattern.replace("[", "[[]")) for pattern in patterns)
