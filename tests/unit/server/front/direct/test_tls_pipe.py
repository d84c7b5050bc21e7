"""Where TLS ends and begins in the front: what cannot be relayed is closed."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import socket
import ssl

import pytest

from envwire.server._auth.reloading import server_tls
from envwire.server._front.pipe import begin_tls, end_tls
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


def test_what_one_end_says_the_other_one_hears() -> None:
    tls = server_tls(ServerConfig(["CartPole-v1"], **certificates().server()))
    assert tls is not None
    trusting = ssl.create_default_context(cafile=str(certificates().path("ca")))

    async def scene() -> None:
        loop, pair = asyncio.get_running_loop(), socket.socketpair()
        for each in pair:
            each.setblocking(False)
        (there, _, _), (here, _) = await asyncio.gather(
            end_tls(pair[0], tls.get().context), begin_tls(pair[1], trusting, "localhost")
        )
        with here, there:
            for speaker, listener in ((here, there), (there, here)):
                await loop.sock_sendall(speaker, b"hello")
                assert await loop.sock_recv(listener, 100) == b"hello"
            here.shutdown(socket.SHUT_RDWR)
            assert await loop.sock_recv(there, 100) == b""

    asyncio.run(asyncio.wait_for(scene(), 60.0))
