"""Makes this process look like one on macOS or Windows, by removing every name that Python lacks there.

It simulates the names that Python has there, not the kernels. What is imported before stays as it is, so libraries are
imported first.
"""

from __future__ import annotations

import asyncio
import os
import selectors
import socket
import sys
import sysconfig
from collections.abc import Iterable
from enum import EnumMeta
from functools import partial
from importlib import import_module
from typing import Any, NoReturn

from tests.portability.absent_names import absent_modules, absent_names

os.environ["GRPC_ENABLE_FORK_SUPPORT"] = "0"  # gRPC built for Windows has no handlers of forks
# These look at the system when they are imported, and would look for the libraries of another one.
for library in ("grpc.aio", "numpy", "pytest", "rich.console", "typer", "urllib.request"):
    import_module(library)
sysconfig.get_config_vars()

#: The flag of a type that cannot be changed.
_IMMUTABLE = 1 << 8


def pretend(system: str) -> None:
    """Takes away what another system lacks.

    Args:
        system: "darwin" or "win32", as `sys.platform` says it.
    """
    sys.platform = system
    selectors.DefaultSelector = selectors.SelectSelector  # type: ignore[misc]  # the one that is everywhere
    if system == "win32":
        # Windows has a kind of its own.
        socket.socketpair = partial(socket.socketpair, socket.AF_UNIX)  # type: ignore[assignment]
    for module, names in absent_names(system).items():
        _remove(vars(import_module(module)), names)
    # None refuses an import.
    sys.modules.update(dict.fromkeys(absent_modules(system)))  # type: ignore[arg-type]
    if system == "win32":
        # The usual loop of Windows waits for operations, not for sockets.
        for name in ("add_reader", "add_writer"):
            setattr(asyncio.SelectorEventLoop, name, _not_implemented)
        _refuse_timevals()


def _remove(module: dict[str, Any], names: Iterable[str]) -> None:
    for name in names:
        owner, _, method = name.rpartition(".")
        if not owner:
            module.pop(name, None)
        elif not isinstance(module[owner], EnumMeta) and not module[owner].__flags__ & _IMMUTABLE:
            setattr(module[owner], method, property(_absent))


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
