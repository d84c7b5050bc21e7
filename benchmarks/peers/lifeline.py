"""Communication of the benchmark's processes with the process that started them, and ending together with it."""

from __future__ import annotations

import io
import json
import os
import signal
import threading
from collections.abc import Callable, Iterator
from queue import SimpleQueue
from typing import Any

#: Seconds that a process has for closing its resources after its lifeline was cut.
GRACE = 5.0


def take_stdout() -> Callable[[dict[str, Any]], None]:
    """Returns a function that writes one line of JSON to the starter, and sends all other output to stderr.

    Libraries print what they like; only answers may reach the pipe.
    """
    pipe = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)

    def answer(message: dict[str, Any]) -> None:
        pipe.write(json.dumps(message) + "\n")
        pipe.flush()

    return answer


def commands() -> Iterator[dict[str, Any]]:
    """Returns the starter's commands until it closes the pipe or dies.

    From then on this process, and all that it started, has `GRACE` seconds: each runs in a session of its own, and the
    whole group is killed, whatever the main thread is waiting for.
    """
    lines = SimpleQueue[str]()
    threading.Thread(target=_read, args=(lines,), daemon=True).start()
    return (json.loads(line) for line in iter(lines.get, ""))


def _read(lines: SimpleQueue[str]) -> None:
    # Unbuffered: a forked child closes `sys.stdin`, and would wait forever for a lock that this thread held.
    with io.FileIO(0, closefd=False) as pipe:
        for line in iter(pipe.readline, b""):
            lines.put(line.decode())
    lines.put("")
    timer = threading.Timer(GRACE, os.killpg, (0, signal.SIGKILL))
    timer.daemon = True
    timer.start()


def describe(error: Exception) -> str:
    """Returns an error as one line. For gRPC's errors it is their details, which are embedded in a long text."""
    details: object = getattr(error, "details", None)
    text = details() if callable(details) else error
    return " ".join(f"{type(error).__name__}: {text}".split())


def pin(core: int | None) -> None:
    """Pins this process and its children to one core, if the system supports it."""
    if core is not None and hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {core})
