"""Where TLS ends in the front: what cannot be relayed is closed."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import socket
import ssl

import pytest

from envwire.server._auth.reloading import server_tls
from envwire.server._front.pipe import end_tls
from envwire.server.config import ServerConfig
from tests.secured import certificates


def _out_of_files() -> tuple[socket.socket, socket.socket]:
    raise OSError(errno.EMFILE, "Too many open files")


def test_a_client_that_cannot_be_relayed_is_disconnected(monkeypatch: pytest.MonkeyPatch) -> None:
    tls = server_tls(ServerConfig(["CartPole-v1"], **certificates().server()))
    assert tls is not None
    trusting = ssl.create_default_context(cafile=str(certificates().path("ca")))

    async def scene() -> None:
        near, far = socket.socketpair()
        near.setblocking(False)
        far.setblocking(False)
        connecting = asyncio.ensure_future(
            asyncio.open_connection(sock=far, ssl=trusting, server_hostname="localhost")
        )
        monkeypatch.setattr(socket, "socketpair", _out_of_files)
        with pytest.raises(OSError, match="Too many open files"):
            await end_tls(near, tls.get().context)
        reader, writer = await connecting
        with contextlib.suppress(ConnectionError):  # a reset is an end as well
            assert await asyncio.wait_for(reader.read(), 5.0) == b""
        writer.close()

    asyncio.run(asyncio.wait_for(scene(), 60.0))
