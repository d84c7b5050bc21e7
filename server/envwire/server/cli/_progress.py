"""The progress bar of exports and checks, which only terminals show."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import TypeVar

_T = TypeVar("_T")


def tracked(items: Iterable[_T], what: str, total: int | None = None) -> Iterable[_T]:
    """Yields items, with a progress bar that is gone in the end; `what` is its title."""
    from rich.progress import track

    from envwire.server.cli._console import OperatorConsole

    hidden = not sys.stdout.isatty()
    return track(items, what, total, transient=True, disable=hidden, console=OperatorConsole())
