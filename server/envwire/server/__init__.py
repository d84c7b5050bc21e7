"""The server: hosts environments, one process each, behind gRPC.

>>> from envwire.server import Server
>>> with Server(["CartPole-v1"], port=0) as server:
...     print(server.target)
"""

from __future__ import annotations

from envwire.server._config import ServerConfig
from envwire.server._inprocess import InProcessTransport
from envwire.server._server import Server, ServerError

__all__ = ["InProcessTransport", "Server", "ServerConfig", "ServerError"]
