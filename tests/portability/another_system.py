"""Makes this process look like one on macOS or Windows, by removing the names that Python lacks there.

It simulates the names that Python has there, not the kernels. What is imported before stays as it is, so libraries are
imported first.
"""

from __future__ import annotations

import asyncio
import os
import select
import socket
import sys
import sysconfig
from functools import partial
from importlib import import_module
from typing import Any, NoReturn

os.environ["GRPC_ENABLE_FORK_SUPPORT"] = "0"  # gRPC built for Windows has no handlers of forks
# These look at the system when they are imported, and would look for the libraries of another one.
for library in ("grpc.aio", "numpy", "pytest", "rich.console", "typer"):
    import_module(library)
sysconfig.get_config_vars()

_LINUX_ONLY = {
    os: ("eventfd", "memfd_create", "pidfd_open", "sched_getaffinity", "sched_setaffinity"),
    select: ("epoll",),
    socket: ("TCP_USER_TIMEOUT", "TCP_QUICKACK", "SO_PEERCRED", "SO_PEERSEC", "SCM_CREDENTIALS"),
}
_NOT_ON_MACOS = {socket: ("TCP_KEEPIDLE",)}
_UNIX_ONLY = {
    os: ("fork", "getuid", "geteuid", "killpg", "register_at_fork", "sched_yield", "setsid"),
    select: ("poll", "POLLIN", "POLLHUP", "POLLERR", "POLLRDHUP"),
    socket: ("AF_UNIX", "MSG_DONTWAIT", "recv_fds", "send_fds", "SCM_RIGHTS"),
}
_UNIX_MODULES = ("fcntl", "grp", "pwd", "resource", "termios", "pty")
_UNIX_METHODS = ("recvmsg", "recvmsg_into", "sendmsg")


def pretend(system: str) -> None:
    """Takes away what another system lacks.

    Args:
        system: "darwin" or "win32", as `sys.platform` says it.
    """
    sys.platform = system
    _remove(_LINUX_ONLY)
    if system == "darwin":
        _remove(_NOT_ON_MACOS)
        return
    # Windows has a kind of its own.
    socket.socketpair = partial(socket.socketpair, socket.AF_UNIX)  # type: ignore[assignment]
    _remove(_UNIX_ONLY)
    sys.modules.update(dict.fromkeys(_UNIX_MODULES))  # type: ignore[arg-type]  # None refuses an import
    for name in _UNIX_METHODS:
        setattr(socket.socket, name, property(_absent))
    # The usual loop of Windows waits for operations, not for sockets.
    for name in ("add_reader", "add_writer"):
        setattr(asyncio.SelectorEventLoop, name, _not_implemented)
    _refuse_timevals()


def _remove(names: dict[Any, tuple[str, ...]]) -> None:
    for module, gone in names.items():
        for name in gone:
            if hasattr(module, name):
                delattr(module, name)


def _absent(_: object) -> NoReturn:
    raise AttributeError


def _not_implemented(*_: object) -> NoReturn:
    raise NotImplementedError


def _refuse_timevals() -> None:
    """Windows takes milliseconds where others take a timeval."""
    plain = socket.socket.setsockopt

    def setsockopt(self: socket.socket, level: int, name: int, value: Any) -> None:
        if name in (socket.SO_RCVTIMEO, socket.SO_SNDTIMEO) and not isinstance(value, int):
            raise OSError("a timeval, where milliseconds are taken")
        plain(self, level, name, value)

    socket.socket.setsockopt = setsockopt  # type: ignore[method-assign, assignment]
