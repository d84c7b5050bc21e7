"""Writes the output of environments to the operator's log, each line with its session."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import Any

from envwire.server._logs.fields import extra

_log = logging.getLogger("envwire.server.output")

#: Lines of one process that are logged in a second; the rest are counted. A loop that prints must not fill the disk.
LINES_PER_SECOND = 50
#: Longest line, in bytes; a longer one is cut.
_LONGEST = 2000


class OutputLog:
    """Cuts the output of one process into lines and logs them.

    Args:
        label: Says whose output it is.
        clock: Monotonic time, in seconds.
        fields: Says the same in a log of JSON objects.
    """

    def __init__(
        self,
        label: Callable[[], str],
        clock: Callable[[], float] = time.monotonic,
        fields: Callable[[], dict[str, Any]] = dict,
    ) -> None:
        self._label = label
        self._fields = fields
        self._clock = clock
        self._rest = b""
        self._second = 0
        self._logged = 0
        self._left_out = 0

    def write(self, chunk: bytes) -> None:
        """Takes the next bytes; a line is logged once it is complete."""
        *lines, rest = (self._rest + chunk).split(b"\n")
        self._rest = rest[:_LONGEST]
        for line in lines:
            self._log(line)

    def close(self) -> None:
        """Logs what is left of the last line, and how much was left out."""
        if self._rest:
            self._log(self._rest)
            self._rest = b""
        self._tell_left_out()

    def _log(self, line: bytes) -> None:
        second = int(self._clock())
        if second != self._second:
            self._tell_left_out()
            self._second, self._logged = second, 0
        if self._logged >= LINES_PER_SECOND:
            self._left_out += 1
            return
        self._logged += 1
        self._tell(line[:_LONGEST].decode("utf-8", "replace"))

    def _tell_left_out(self) -> None:
        if self._left_out:
            self._tell(f"... {self._left_out} more lines")
            self._left_out = 0

    def _tell(self, text: str) -> None:
        fields = extra(stream="environment", message=text, **self._fields())
        _log.info("%s: %s", self._label(), text, extra=fields)
