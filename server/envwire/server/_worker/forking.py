"""Forks a session process to get a second environment in the same state.

The kernel copies only memory and the calling thread. If the environment has other threads or child processes, forking
is refused. The copy becomes a child of the fork server, which reaps it like the others.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
from collections.abc import Sequence
from io import FileIO

from envwire.server._ipc.orphans import children, inherit_orphans

#: What comes with a request for a copy: a socket for the answer, then the copy's link, output, control socket,
#: scoreboard and lifeline.
COPY_DESCRIPTORS = 6


class Copied(BaseException):
    """Raised in a process that was forked as a copy, with its link, output, control socket, scoreboard and lifeline."""


def serve_fork(descriptors: Sequence[int], packed: bool) -> None:
    """Forks this process for another session, and reports the result to the front.

    Args:
        descriptors: What came with the request; closed here.
        packed: Whether several sessions share the process, which then cannot be copied.

    Raises:
        Copied: This process is the copy.
    """
    answers, own = socket.socket(fileno=descriptors[0]), descriptors[1:]
    with answers:
        try:
            if why := _refusal(descriptors, packed):
                answer: dict[str, str | int] = {"failed": why}
            elif pid := fork_apart():
                answer = {"pid": pid}
            else:
                raise Copied(*own)
        except OSError as error:
            answer = {"failed": str(error)}
        for descriptor in own:
            os.close(descriptor)
        with contextlib.suppress(OSError):  # the front no longer waits
            answers.sendall(json.dumps(answer).encode())


def _refusal(descriptors: Sequence[int], packed: bool) -> str:
    """Returns why this process cannot be copied; "" if it can."""
    if len(descriptors) < COPY_DESCRIPTORS:
        return "too many files are open in the environment's process"
    return "several sessions share the process" if packed else obstacle()


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
