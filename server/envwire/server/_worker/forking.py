"""Forks a session process to get a second environment in the same state.

The kernel copies only memory and the calling thread. If the environment has other threads or child processes, forking
is refused. The copy becomes a child of the fork server, which reaps it like the others.
"""

from __future__ import annotations

import contextlib
import os
from io import FileIO

from envwire.server._ipc.orphans import children, inherit_orphans


def obstacle() -> str:
    """Returns why this process cannot be forked; "" if it can."""
    threads = os.listdir("/proc/self/task")
    if len(threads) > 1:
        return f"the environment's process runs {len(threads)} threads, and a fork copies one"
    if children():
        return "the environment has started processes of its own, which a fork does not copy"
    return ""


def fork_apart() -> int:
    """Forks a process that is not a child of this one, in its own process group; returns its pid, and 0 in the new one.

    Raises:
        OSError: The system is temporarily out of processes or memory.
    """
    reading, writing = os.pipe()
    inherit_orphans(False)  # the intermediate parent exits, so the fork server inherits the copy
    try:
        with open(reading, "rb") as read, open(writing, "wb", buffering=0) as write:
            middle = os.fork()
            if middle == 0:
                return _fork_from_the_middle(write)
            write.close()
            told = read.read()
            os.waitpid(middle, 0)
    finally:
        inherit_orphans()
    if not told:
        raise OSError("no process to be had")
    return int(told)


def _fork_from_the_middle(pipe: FileIO) -> int:
    """Forks a second time and exits, so that the new process is orphaned."""
    try:
        copy = os.fork()
    except OSError:
        os._exit(1)
    if copy == 0:
        os.setpgid(0, 0)
        return 0
    with contextlib.suppress(OSError):  # the process has done so itself, or has exited
        os.setpgid(copy, copy)
    pipe.write(str(copy).encode())
    os._exit(0)
