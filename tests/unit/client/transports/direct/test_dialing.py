"""Dialing closes its sockets when it fails."""

from __future__ import annotations

import gc
import select
import socket
import ssl
import struct
import threading
import warnings
from pathlib import Path
from typing import Any

import pytest

from envwire.client import Credentials, ServerUnavailableError, TlsError
from envwire.client._transports.direct.dialing import Dialer
from envwire.v1 import environment_pb2 as pb
from tests.secured import certificates

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


def test_a_connection_that_is_reset_before_tls_begins_is_closed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    context = Late(ssl.PROTOCOL_TLS_CLIENT)
    context.began = threading.Event()
    monkeypatch.setattr(Credentials, "ssl_context", lambda _: context)
    with (
        socket.create_server(("127.0.0.1", 0)) as listener,
        warnings.catch_warnings(record=True) as said,
    ):
        warnings.simplefilter("always", ResourceWarning)
        server = threading.Thread(target=reset_one, args=(listener, context.began), daemon=True)
        server.start()
        address = f"127.0.0.1:{listener.getsockname()[1]}"
        dialer = Dialer(address, "direct-tcp", Credentials())
        dialer.use(pb.MakeResponse(session_id="s", direct=pb.DirectChannel(addresses=[address])))
        with pytest.raises(ServerUnavailableError, match="no direct channel"):
            dialer.dial()
        server.join(60.0)
        gc.collect()
    assert [str(each.message) for each in said] == []


def test_certificates_are_read_again_only_if_they_changed(tmp_path: Path) -> None:
    files = certificates()
    ca = tmp_path / "ca.pem"
    ca.write_bytes(files.path("ca").read_bytes())

    def context() -> ssl.SSLContext | None:
        return Dialer("a:1", "direct-tcp", Credentials(ca=ca))._context

    first = context()
    assert first is not None
    assert context() is first
    ca.write_bytes(files.path("other-ca").read_bytes())
    other = context()
    assert other is not None
    assert other.get_ca_certs() != first.get_ca_certs()
    ca.write_text("nothing")
    with pytest.raises(TlsError):
        context()
    assert Dialer("a:1", "direct-tcp", Credentials(ca=None, cert=None))._context is None
