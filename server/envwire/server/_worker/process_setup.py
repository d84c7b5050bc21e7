"""Sets up a session process and ends it: redirects its output to the front, and makes it die with the front.

It exits with `os._exit`, since a forked process must not run its parent's exit handlers.
"""

from __future__ import annotations

import fcntl
import os
import signal
import sys
import traceback
from collections.abc import Callable
from typing import NoReturn

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
