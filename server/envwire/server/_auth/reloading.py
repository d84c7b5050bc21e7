"""Files that may change while the server runs: their meaning is read anew when they do."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

from envwire.server._settings.checks import FilePath

_log = logging.getLogger("envwire.server")

_T = TypeVar("_T")


class Reloaded(Generic[_T]):
    """What some files say, now.

    A change that cannot be read is logged, and what they said before stays: half-written files must not stop a server.

    Args:
        paths: The files.
        read: Reads them.

    Raises:
        ValueError: They cannot be read at the beginning.
        OSError: They are not there at the beginning.
    """

    def __init__(self, paths: Sequence[FilePath], read: Callable[[], _T]) -> None:
        self._paths = paths
        self._read = read
        self._lock = threading.Lock()  # gRPC asks from threads of its own
        self._seen = self._signature()
        self._value = read()

    def get(self) -> _T:
        """Returns what the files say."""
        with self._lock:
            try:
                self._look()
            except (OSError, ValueError) as error:
                _log.warning(
                    "%s: not taken, the former stays: %s", ", ".join(map(str, self._paths)), error
                )
            return self._value

    def _look(self) -> None:
        seen = self._signature()
        if seen != self._seen:
            self._seen = seen
            self._value = self._read()
            _log.info("%s: read anew", ", ".join(map(str, self._paths)))

    def _signature(self) -> list[tuple[int, int, int] | None]:
        return [_stamp(path) for path in self._paths]


def _stamp(path: FilePath) -> tuple[int, int, int] | None:
    """Returns what changes with a file; None when it is not there, which is a change like any other."""
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_ino, status.st_size, status.st_mtime_ns
