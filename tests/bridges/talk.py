"""Speaks OpenEnv's wire with a stock WebSocket client, for tests without OpenEnv."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from websockets.sync.client import ClientConnection, connect


def free_port() -> int:
    """Returns a port on which nothing listens."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
        return port


def strictly(text: str | bytes) -> Any:
    """Reads JSON, which has no NaN and no infinities, although Python's reader takes them."""

    def refuse(number: str) -> None:
        raise ValueError(f"{number} is no JSON")

    return json.loads(text, parse_constant=refuse)


class Talk:
    """A conversation with one environment."""

    def __init__(self, connection: ClientConnection) -> None:
        self.connection = connection

    def say(self, text: str) -> dict[str, Any]:
        """Sends a message and returns the answer."""
        self.connection.send(text)
        answer: dict[str, Any] = strictly(self.connection.recv(timeout=30))
        return answer

    def ask(self, kind: str, **data: Any) -> dict[str, Any]:
        """Sends a message of this type; returns the data of the answer."""
        answer: dict[str, Any] = self.say(json.dumps({"type": kind, "data": data}))["data"]
        return answer


@contextmanager
def talk(base: str, **headers: str) -> Iterator[Talk]:
    """Opens a conversation at `base`, "http://host:port/ID"."""
    url = f"{base.replace('http', 'ws', 1)}/ws"
    with connect(url, additional_headers=headers, open_timeout=30, proxy=None) as connection:
        yield Talk(connection)
