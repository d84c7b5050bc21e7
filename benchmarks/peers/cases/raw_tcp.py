"""The lower bound: bytes in both directions on blocking TCP sockets, without encoding, one thread per client.

The variant "reused" receives into one buffer; "fresh" into a new array each time, as an environment has to.
"""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress

import numpy as np

from benchmarks.peers.setup import Setup, Step

REQUEST_BYTES = 64
#: Bytes of a reply in addition to its observation: a reward, two flags, a number, lengths.
EXTRA_BYTES = 48


def _no_delay(connection: socket.socket) -> socket.socket:
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return connection


def receive_into(connection: socket.socket, view: memoryview) -> bool:
    """Fills a buffer; False if the other side closed."""
    received, length = 0, len(view)
    while received < length:
        count = connection.recv_into(view[received:])
        if not count:
            return False
        received += count
    return True


def _reply(connection: socket.socket, reply: bytes) -> None:
    request = memoryview(bytearray(REQUEST_BYTES))
    with connection, suppress(ConnectionError):
        while receive_into(connection, request):
            connection.sendall(reply)


def serve(setup: Setup, announce: Callable[[int], None]) -> None:
    """Answers each request with as many bytes as a step of that size."""
    listener = socket.create_server(("127.0.0.1", 0), backlog=128)
    announce(listener.getsockname()[1])
    reply = bytes(setup.size + EXTRA_BYTES)
    while True:
        connection = _no_delay(listener.accept()[0])
        threading.Thread(target=_reply, args=(connection, reply), daemon=True).start()


@contextmanager
def connect(setup: Setup, port: int) -> Generator[Step]:
    """Yields one exchange of bytes."""
    length, request = setup.size + EXTRA_BYTES, bytes(REQUEST_BYTES)
    buffer = memoryview(bytearray(length))
    with _no_delay(socket.create_connection(("127.0.0.1", port), timeout=30)) as connection:
        # With a timeout, Python makes the socket non-blocking and polls before each call.
        connection.settimeout(None)

        def reused() -> object:
            connection.sendall(request)
            return receive_into(connection, buffer)

        def fresh() -> object:
            connection.sendall(request)
            array = np.empty(length, np.uint8)
            receive_into(connection, array.data)
            return array

        yield {"reused": reused, "fresh": fresh}[setup.variant]
