"""Captures the output of a session process and keeps a bounded tail of it."""

from __future__ import annotations

import asyncio
import os

from envwire.server._processes.output_log import OutputLog

_CHUNK_BYTES = 65536
_KEPT_BYTES = 4096
_PAUSE_SECONDS = 0.05


class OutputTail:
    """Reads a pipe and keeps the last bytes.

    It reads one chunk at a time, with pauses, so that a process that prints endlessly is slowed down by its full pipe.

    Args:
        descriptor: Read end of the pipe; closed at end of file or by `close`.
    """

    def __init__(self, descriptor: int) -> None:
        self._log: OutputLog | None = None
        self._descriptor = descriptor
        self._kept = b""
        self._loop = asyncio.get_running_loop()
        self._paused: asyncio.TimerHandle | None = None
        os.set_blocking(descriptor, False)
        self._loop.add_reader(descriptor, self._read)

    def follow(self, log: OutputLog) -> None:
        """Also passes all output to the operator's log, including earlier output that was kept."""
        self._log = log
        log.write(self._kept)

    def text(self) -> str:
        """Returns the tail of the output, including what is still in the pipe."""
        self._read()
        return self._kept.decode("utf-8", "replace")

    def drain(self) -> None:
        """Reads the rest once the process has ended, then stops, since its children may hold the pipe open."""
        self._read()
        self.close()

    def close(self) -> None:
        """Stops reading."""
        if self._descriptor < 0:
            return
        if self._paused is not None:
            self._paused.cancel()
        self._loop.remove_reader(self._descriptor)
        os.close(self._descriptor)
        self._descriptor = -1
        if self._log is not None:
            self._log.close()

    def _read(self) -> None:
        if self._descriptor < 0:
            return
        try:
            chunk = os.read(self._descriptor, _CHUNK_BYTES)
        except BlockingIOError:
            return
        if not chunk:
            self.close()
            return
        if self._log is not None:
            self._log.write(chunk)
        self._kept = (self._kept + chunk)[-_KEPT_BYTES:]
        self._pause()

    def _pause(self) -> None:
        self._loop.remove_reader(self._descriptor)
        if self._paused is not None:
            self._paused.cancel()
        self._paused = self._loop.call_later(
            _PAUSE_SECONDS, self._loop.add_reader, self._descriptor, self._read
        )
