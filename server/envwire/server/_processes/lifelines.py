"""Pipes whose end kills session processes: when the front closes them, or is gone."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Generator
from typing import BinaryIO

from envwire.server._processes.forkserver_start import ForkError, OnExit


class Lifelines:
    """The pipes of the processes that one fork server started.

    Each process has its own. Whoever has one end of a pipe can open the other, and a byte in it kills as its end does:
    with a pipe for all, an environment could end the sessions of others.
    """

    def __init__(self) -> None:
        self._ends: set[BinaryIO] = set()
        self._closed = False

    @contextlib.contextmanager
    def opened(self, on_exit: OnExit) -> Generator[tuple[int, OnExit]]:
        """Opens the pipe of a process that is forked inside the `with` block.

        Args:
            on_exit: Called with the process's exit status.

        Yields:
            The process's descriptor, which is closed here when the block ends, and what to call with its exit status.

        Raises:
            ForkError: The server is stopping.
            OSError: Too many files are open.
        """
        if self._closed:
            raise ForkError("the server is stopping")
        theirs, ours = os.pipe2(os.O_CLOEXEC)
        end = os.fdopen(ours, "wb", buffering=0)
        self._ends.add(end)

        def on_end(status: int) -> None:
            self._close(end)
            on_exit(status)

        try:
            yield theirs, on_end
        except BaseException:
            self._close(end)
            raise
        finally:
            os.close(theirs)

    def _close(self, end: BinaryIO) -> None:
        self._ends.discard(end)
        end.close()

    def close(self) -> None:
        """Kills the processes that are left; no others can be started."""
        self._closed = True
        for end in list(self._ends):
            self._close(end)
