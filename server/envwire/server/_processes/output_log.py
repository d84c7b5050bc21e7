"""Writes the output of environments to the operator's log, each line labelled with its session."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import Any

from envwire.server._logs.fields import extra
from envwire.server._words import counted

_log = logging.getLogger("envwire.server.output")

#: Lines per process and second that are logged; the rest are only counted, so that no loop of prints fills the disk.
LINES_PER_SECOND = 50
#: Longest line, in bytes; longer ones are cut.
_MAX_LINE_BYTES = 2000


class OutputLog:
    """Splits the output of one process into lines and logs them.

    Args:
        describe: Returns the name of the session for a text log, and its fields for a JSON log.
        clock: Monotonic time, in seconds.
    """

    def __init__(
        self,
        describe: Callable[[], tuple[str, dict[str, Any]]],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._describe = describe
        self._clock = clock
        self._rest = b""
        self._second = 0
        self._logged = 0
        self._left_out = 0

    def write(self, chunk: bytes) -> None:
        """Adds output; each complete line is logged."""
        *lines, rest = (self._rest + chunk).split(b"\n")
        self._rest = rest[:_MAX_LINE_BYTES]
        for line in lines:
            self._log(line)

    def close(self) -> None:
        """Logs the rest of the last line, and how many lines were left out."""
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
        self._tell(line[:_MAX_LINE_BYTES].decode("utf-8", "replace"))

    def _tell_left_out(self) -> None:
        if self._left_out:
            self._tell(f"... {counted(self._left_out, 'more line')}")
            self._left_out = 0

    def _tell(self, text: str) -> None:
        label, fields = self._describe()
        shown = extra(stream="environment", message=text, **fields)
        _log.info("%s: %s", label, text, extra=shown)
