"""Sets up a session process: redirects its output to the front, and ends it when the front dies."""

from __future__ import annotations

import fcntl
import os
import signal
import sys
from typing import NoReturn

#: Open for as long as the process lives.
_lifelines: list[int] = []


def take_output(output: int) -> None:
    """Redirects standard output and error, those of native code included, to the front's pipe."""
    with open(os.devnull, "rb") as nothing:
        os.dup2(nothing.fileno(), 0)
    os.dup2(output, 1)
    os.dup2(output, 2)
    os.close(output)
    if "PYTHONBREAKPOINT" not in os.environ:  # which may name a debugger that needs no terminal
        sys.breakpointhook = _no_terminal


def _no_terminal(*_args: object, **_kwargs: object) -> NoReturn:
    raise RuntimeError(
        "breakpoint() needs a terminal, and an environment on a server has none. Debug it in your own process: "
        "envwire run in-process ENV_ID --import MODULE, or RemoteEnv(None, ENV_ID, transport=InProcessTransport(...))"
    )


def die_with(lifeline: int) -> None:
    """Makes the kernel kill this process when the front's end of `lifeline` closes, even inside a hung native call.

    Its group goes with it, whatever the environment started there, and it goes itself if it leaves that group. The
    signal is SIGKILL: SIGIO, which the kernel sends by itself, can be ignored.
    """
    while _lifelines:  # inherited from the process that this one is a copy of
        os.close(_lifelines.pop())
    for owner in (os.getpid(), -os.getpid()):
        # Who is signalled belongs to the open file, and a fork shares it: each session opens the pipe anew.
        own = os.open(f"/proc/self/fd/{lifeline}", os.O_RDONLY | os.O_NONBLOCK)
        fcntl.fcntl(own, fcntl.F_SETOWN, owner)
        fcntl.fcntl(own, fcntl.F_SETSIG, signal.SIGKILL)
        fcntl.fcntl(own, fcntl.F_SETFL, os.O_NONBLOCK | os.O_ASYNC)
        _lifelines.append(own)
    os.close(lifeline)
