"""Sets up a session process, copies it, and ends it.

Its output goes to the front, and it dies with the front. It exits with `os._exit`, since a forked process must not run
its parent's exit handlers.

A copy is a second environment in the same state. The kernel copies only memory and the calling thread. If the
environment has other threads or child processes, forking is refused. The copy becomes a child of the fork server, which
reaps it like the others.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import signal
import socket
import sys
import traceback
from collections.abc import Callable, Sequence
from io import FileIO
from typing import NoReturn

from envwire.server._ipc.orphans import children, inherit_orphans

#: Descriptors that stay open for as long as the process lives.
_lifelines: list[int] = []


def take_output(output: int) -> None:
    """Redirects standard output and error, including that of native code, to the front's pipe."""
    with open(os.devnull, "rb") as nothing:
        os.dup2(nothing.fileno(), 0)
    os.dup2(output, 1)
    os.dup2(output, 2)
    os.close(output)
    if "PYTHONBREAKPOINT" not in os.environ:  # it may name a debugger that needs no terminal
        sys.breakpointhook = _no_terminal


def _no_terminal(*_args: object, **_kwargs: object) -> NoReturn:
    raise RuntimeError(
        "breakpoint() needs a terminal, and an environment on a server has none. Debug it in your own process: "
        "envwire run in-process ENV_ID --import MODULE, or RemoteEnv(None, ENV_ID, transport=InProcessTransport(...))"
    )


def die_with(lifeline: int) -> None:
    """Makes the kernel kill this process when the front's end of `lifeline` closes, even inside a hung native call.

    The kernel kills its process group, which includes what the environment started there, and the process itself if it
    has left that group. The signal is set to SIGKILL, because the default, SIGIO, can be ignored.
    """
    while _lifelines:  # inherited from the process that was copied
        os.close(_lifelines.pop())
    for owner in (os.getpid(), -os.getpid()):
        # The process to signal is a property of the open file, which a fork shares: each session reopens the pipe.
        own = os.open(f"/proc/self/fd/{lifeline}", os.O_RDONLY | os.O_NONBLOCK)
        fcntl.fcntl(own, fcntl.F_SETOWN, owner)
        fcntl.fcntl(own, fcntl.F_SETSIG, signal.SIGKILL)
        fcntl.fcntl(own, fcntl.F_SETFL, os.O_NONBLOCK | os.O_ASYNC)
        _lifelines.append(own)
    os.close(lifeline)


def run_and_exit(run: Callable[[], None]) -> NoReturn:
    """Runs a process's main function, then exits with the same status as Python itself would."""
    status = 1
    try:
        run()
        status = 0
    except SystemExit as leaving:
        status = _exit_status(leaving)
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


def _exit_status(leaving: SystemExit) -> int:
    if leaving.code is None:
        return 0
    if isinstance(leaving.code, int):
        return leaving.code & 0xFF
    print(leaving.code, file=sys.stderr)
    return 1


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
