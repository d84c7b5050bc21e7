"""Edits of source files, found by looking at their size and time of change: a look takes 2 us a file."""

from __future__ import annotations

from collections.abc import Iterable

from envwire.server._auth.reloading import stamp


class SourceFiles:
    """Source files as they were when they were imported.

    Args:
        files: Their paths.
    """

    def __init__(self, files: Iterable[str]) -> None:
        self._imported = {file: stamp(file) for file in files}

    def edited(self) -> list[str]:
        """Returns the files that changed since they were imported."""
        return [file for file, imported in self._imported.items() if stamp(file) != imported]

    def including(self, files: Iterable[str]) -> SourceFiles:
        """Returns these and other files, all as they were imported; of those that are known already, when they were."""
        both = SourceFiles({*files, *self._imported})
        both._imported.update(self._imported)
        return both
