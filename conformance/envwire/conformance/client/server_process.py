"""The server behind the scenarios: envwire's own, with the suite's environments."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager

from envwire.conformance.outcomes import UnreachableError

_READY = "ready: "
_COMMAND = ("serve", "Conformance/*", "--port", "0", "--step-timeout", "5", "--drain-timeout", "0")


@contextmanager
def server_process() -> Generator[str]:
    """Runs a server, and yields its HOST:PORT.

    Raises:
        UnreachableError: The server does not start.
    """
    process = subprocess.Popen(  # noqa: S603 - our own program
        [sys.executable, "-m", "envwire", *_COMMAND],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        line = process.stdout.readline() if process.stdout else ""
        if not line.startswith(_READY):
            raise UnreachableError(
                "the server of the scenarios does not start: run `envwire serve`"
            )
        yield line.removeprefix(_READY).strip()
    finally:
        process.terminate()
        process.communicate()
