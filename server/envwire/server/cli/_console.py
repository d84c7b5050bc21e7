"""The console of tables and progress bars, in which text of others is only text."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import TypeVar

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from envwire.server._guarded_output import drawing, escaped


class OperatorConsole(Console):
    """A console that moves the cursor itself, and escapes control characters in all text that it shows.

    Brackets in text are no markup.

    Args:
        stderr: Whether it writes to standard error.
    """

    def __init__(self, *, stderr: bool = False) -> None:
        file = drawing(sys.stderr if stderr else sys.stdout)
        super().__init__(file=file, markup=False, emoji=False)

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        """Yields the segments of what is shown; styles and movements of the cursor are not text."""
        for text, style, control in super().render(renderable, options):
            yield Segment(text if control else escaped(text), style, control)


_T = TypeVar("_T")


def tracked(items: Iterable[_T], what: str, total: int | None = None) -> Iterable[_T]:
    """Yields items, with a progress bar that is gone in the end; `what` is its title."""
    from rich.progress import track

    from envwire.server.cli._console import OperatorConsole

    hidden = not sys.stdout.isatty()
    return track(items, what, total, transient=True, disable=hidden, console=OperatorConsole())
