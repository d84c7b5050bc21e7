"""Edits of source files, found by looking at their size and time of change: a look takes 2 us a file."""

from __future__ import annotations

import os
from collections.abc import Iterable

#: Time of change in nanoseconds, and size in bytes; None for a file that is not there.
_Stamp = tuple[int, int] | None


class SourceFiles:
    """Source files as they were when they were imported.

    Args:
        files: Their paths.
    """

    def __init__(self, files: Iterable[str]) -> None:
        self._imported = {file: _stamp(file) for file in files}

    def edited(self) -> list[str]:
        """Returns the files that changed since they were imported."""
        return [file for file, stamp in self._imported.items() if _stamp(file) != stamp]

    def including(self, files: Iterable[str]) -> SourceFiles:
        """Returns these and other files, all as they were imported; of those that are known already, when they were."""
        both = SourceFiles({*files, *self._imported})
        both._imported.update(self._imported)
        return both


def _stamp(file: str) -> _Stamp:
    try:
        found = os.stat(file)
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size
