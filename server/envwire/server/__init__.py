"""The server: hosts environments, each in a process of its own, behind gRPC.

    >>> from envwire.server import Server
    >>> with Server(["CartPole-v1"], port=0) as server:
    ...     print(server.target)

Names are imported on first use, so that small commands such as `envwire health` start quickly.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from envwire.server.config import ServerConfig
    from envwire.server.inprocess import InProcessTransport
    from envwire.server.server import Server, ServerError
    from envwire.wire.version import __version__

_MODULES = {
    "InProcessTransport": "inprocess",
    "Server": "server",
    "ServerConfig": "config",
    "ServerError": "server",
    "__version__": ".wire.version",
}

__all__ = ["InProcessTransport", "Server", "ServerConfig", "ServerError", "__version__"]


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f".{_MODULES[name]}", __name__), name)
