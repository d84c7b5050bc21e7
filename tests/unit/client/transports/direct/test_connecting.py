"""Connecting a direct channel closes what it opened when it fails."""

from __future__ import annotations

import gc
import select
import socket
import ssl
import struct
import threading
import warnings
from typing import Any

from envwire.client._transports.direct.connecting import connect

#: Closing such a connection resets it.
RESET = struct.pack("ii", 1, 0)


class Late(ssl.SSLContext):
    """Comes to a socket after it was reset, if it was connected."""

    began: threading.Event

    def wrap_socket(self, sock: socket.socket, *args: Any, **kwargs: Any) -> Any:
        self.began.set()
        poll = select.poll()
        poll.register(sock, select.POLLHUP)
        poll.poll(5000)
        return super().wrap_socket(sock, *args, **kwargs)


def reset_one(listener: socket.socket, began: threading.Event) -> None:
    connection, _ = listener.accept()
    began.wait(60.0)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
    connection.close()


def why_not(address: str, context: ssl.SSLContext) -> str:
    try:
        connect(address, 5.0, context, None, lambda _: None).close()
    except OSError as error:
        return str(error)
    return ""


def test_a_connection_that_is_reset_before_tls_begins_is_closed() -> None:
    context = Late(ssl.PROTOCOL_TLS_CLIENT)
    context.began = threading.Event()
    with (
        socket.create_server(("127.0.0.1", 0)) as listener,
        warnings.catch_warnings(record=True) as said,
    ):
        warnings.simplefilter("always", ResourceWarning)
        server = threading.Thread(target=reset_one, args=(listener, context.began), daemon=True)
        server.start()
        assert why_not(f"127.0.0.1:{listener.getsockname()[1]}", context)
        server.join(60.0)
        gc.collect()
    assert [str(each.message) for each in said] == []
