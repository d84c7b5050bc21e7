"""Features that differ between operating systems, under common names, and the id of this process.

Linux has all of them. macOS lacks a few socket options and abstract Unix sockets. Windows lacks forks, `select.poll`,
`recvmsg`, and socket timeouts as a timeval.

Each request first checks that its session was made in this process. `os.getpid` takes 0.3 to 0.8 us on a virtual
machine, and a whole step over a direct channel 30 us; so the id is cached, and a forked child updates it.
"""

from __future__ import annotations

import os
import select
import socket
import sys
from collections.abc import Callable
from typing import Protocol

#: Whether Unix sockets have names outside the file system.
ABSTRACT_NAMES = sys.platform.startswith(("linux", "android"))

#: Whether SO_RCVTIMEO takes a timeval and `recvmsg_into` exists.
KERNEL_TIMES = sys.platform != "win32"

#: Seconds after which a TCP connection whose peer vanished fails, unless others are asked for.
LIVENESS_SECONDS = 30.0
#: How often a silent peer is asked before the connection fails.
_PROBES = 3


def liveness_options(seconds: float) -> list[tuple[int, int]]:
    """Returns options with which a TCP connection fails when nothing has come for this time, idle or not.

    The kernel counts whole seconds, of which it needs four: one of silence, and one for each of three probes.
    """
    interval = max(1, int(seconds / (2 * _PROBES)))
    idle = max(1, int(seconds) - _PROBES * interval)
    by_name = {
        "TCP_KEEPIDLE": idle,
        "TCP_KEEPALIVE": idle,  # macOS's name for TCP_KEEPIDLE
        "TCP_KEEPINTVL": interval,
        "TCP_KEEPCNT": _PROBES,
        "TCP_USER_TIMEOUT": max(1, int(seconds * 1000)),
    }
    return [
        (int(getattr(socket, name)), value)
        for name, value in by_name.items()
        if hasattr(socket, name)
    ]


POLLIN: int = getattr(select, "POLLIN", 1)


class Poll(Protocol):
    """The part of `select.poll` that waits for readable sockets."""

    def register(self, fd: int, eventmask: int, /) -> None:
        """Adds a socket."""

    def unregister(self, fd: int, /) -> None:
        """Removes a socket."""

    def poll(self, timeout: float | None = None, /) -> list[tuple[int, int]]:
        """Returns the sockets that are readable within `timeout` milliseconds."""
        ...


class _SelectPoll:
    """`Poll` on `select.select`."""

    def __init__(self) -> None:
        self._descriptors: list[int] = []

    def register(self, fd: int, _eventmask: int, /) -> None:
        self._descriptors.append(fd)

    def unregister(self, fd: int, /) -> None:
        self._descriptors.remove(fd)

    def poll(self, timeout: float | None = None, /) -> list[tuple[int, int]]:
        seconds = None if timeout is None else timeout / 1000
        return [(fd, POLLIN) for fd in select.select(self._descriptors, (), (), seconds)[0]]


#: Makes a `Poll`.
new_poll: Callable[[], Poll] = getattr(select, "poll", _SelectPoll)


def before_fork(function: Callable[[], object]) -> None:
    """Calls a function before each fork, on systems that fork."""
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(before=function)


def after_fork_in_child(function: Callable[[], object]) -> None:
    """Calls a function in each forked child, on systems that fork."""
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=function)


class _ThisProcess:
    """This process.

    Attributes:
        pid: Its id.
    """

    def __init__(self) -> None:
        self.update()

    def update(self) -> None:
        """Reads the id from the operating system."""
        self.pid = os.getpid()


THIS_PROCESS = _ThisProcess()

after_fork_in_child(THIS_PROCESS.update)
