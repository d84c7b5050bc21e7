"""The forwarder passes a limited number of bytes of an unauthenticated connection, and all bytes of a client's."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import os
import socket
import struct
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import uvloop

from envwire.server._front.grpc import forwarding
from envwire.server._front.grpc.forwarding import (
    PATIENCE,
    UNAUTHENTICATED_BYTES,
    Forwarder,
    Patience,
    forwarded,
)
from envwire.server._front.pipe import PipeEnd
from tests.unit.server.front.test_pipe import Narrow

HOST = "127.0.0.1"
MANY = 20 * UNAUTHENTICATED_BYTES


@pytest.fixture(autouse=True, params=["asyncio", "uvloop"])
def loops(request: pytest.FixtureRequest) -> Callable[[Any], None]:
    return uvloop.run if request.param == "uvloop" else asyncio.run


class Behind:
    """What stands behind the forwarder, as gRPC does."""

    def __init__(self) -> None:
        self.listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.path = ""

    def add_port(self, address: str) -> int:
        self.path = address.removeprefix("unix:")
        self.listener.bind(self.path)
        self.listener.listen()
        self.listener.setblocking(False)
        return 1

    async def accept(self) -> tuple[socket.socket, str]:
        """Returns the next connection, and the name that gRPC would have for the other end."""
        connection, name = await asyncio.get_running_loop().sock_accept(self.listener)
        connection.setblocking(False)
        return connection, "unix-abstract:" + bytes(name)[1:].decode()


@asynccontextmanager
async def forwarding_to(
    behind: Behind, host: str = HOST, patience: Patience = PATIENCE
) -> AsyncGenerator[tuple[Forwarder, socket.socket]]:
    """Runs a forwarder, and connects to it."""
    forwarder, loop = Forwarder(host, 0, patience), asyncio.get_running_loop()
    forwarder.bind(behind.add_port)
    port = await forwarder.start()
    client = socket.socket()
    client.setblocking(False)
    try:
        await loop.sock_connect(client, (HOST, port))
        yield forwarder, client
    finally:
        client.close()
        behind.listener.close()
        forwarder.stop()
        forwarder.stop()


async def limited(work: Awaitable[None]) -> None:
    await asyncio.wait_for(work, 60.0)


async def received(connection: socket.socket, count: int) -> bytes:
    data = b""
    while len(data) < count:
        more = await asyncio.get_running_loop().sock_recv(connection, count - len(data))
        if not more:
            break
        data += more
    return data


def run(
    loops: Callable[[Any], None],
    serve: Callable[[Forwarder, socket.socket, socket.socket, str], Awaitable[None]],
    host: str = HOST,
    patience: Patience = PATIENCE,
) -> None:
    async def main() -> None:
        behind = Behind()
        async with forwarding_to(behind, host, patience) as (forwarder, client):
            connection, peer = await behind.accept()
            with connection:
                await serve(forwarder, client, connection, peer)

    loops(limited(main()))


def test_a_stranger_gets_so_much_through_and_a_client_the_rest(
    loops: Callable[[Any], None],
) -> None:
    said = bytes(range(256)) * (MANY // 256)

    async def serve(
        forwarder: Forwarder, client: socket.socket, connection: socket.socket, peer: str
    ) -> None:
        loop = asyncio.get_running_loop()
        sending = asyncio.ensure_future(loop.sock_sendall(client, said))
        first = await received(connection, UNAUTHENTICATED_BYTES)
        with pytest.raises(BlockingIOError):
            connection.recv(1)
        forwarder.admit(forwarded(peer))
        assert first + await received(connection, MANY - len(first)) == said
        await sending
        await loop.sock_sendall(connection, said)
        assert await received(client, MANY) == said

    run(loops, serve)


def test_a_client_that_sent_more_as_a_stranger_is_read_no_faster_than_grpc_reads(
    loops: Callable[[Any], None],
) -> None:
    async def main() -> None:
        client, ours = forwarding._ClientEnd(lambda *_: None, PATIENCE), PipeEnd()
        with (
            socket.create_server((HOST, 0)) as listener,
            socket.create_connection(listener.getsockname()) as connection,
        ):
            near, far = Narrow(client, socket=connection), Narrow(ours)
        client.join(ours)
        client.data_received(bytes(UNAUTHENTICATED_BYTES))
        ours.resume_writing()
        client.data_received(b"more")
        client.admit()
        assert (far.written[UNAUTHENTICATED_BYTES:], near.paused) == (b"more", True)
        ours.resume_writing()
        assert not near.paused

    loops(main())


def test_a_stranger_who_says_too_much_is_sent_away(loops: Callable[[Any], None]) -> None:

    async def serve(
        forwarder: Forwarder, client: socket.socket, connection: socket.socket, peer: str
    ) -> None:
        loop = asyncio.get_running_loop()
        with pytest.raises(ConnectionError):
            await loop.sock_sendall(client, bytes(100 * MANY))
        assert len(await received(connection, MANY)) == UNAUTHENTICATED_BYTES
        forwarder.admit(forwarded(peer))  # too late, and harmless

    run(loops, serve, patience=Patience(full=0.01))


def test_a_stranger_who_has_said_much_is_sent_away_in_a_pause(loops: Callable[[Any], None]) -> None:

    async def serve(
        _: Forwarder, client: socket.socket, connection: socket.socket, __: str
    ) -> None:
        much = UNAUTHENTICATED_BYTES // 2 + 1
        await asyncio.get_running_loop().sock_sendall(client, bytes(much))
        assert len(await received(connection, MANY)) == much

    run(loops, serve, patience=Patience(silent=0.01))


def test_a_stranger_gets_bytes_back_for_answers(loops: Callable[[Any], None]) -> None:

    async def serve(
        forwarder: Forwarder, client: socket.socket, connection: socket.socket, peer: str
    ) -> None:
        for _ in range(UNAUTHENTICATED_BYTES // 50):
            await asyncio.get_running_loop().sock_sendall(client, bytes(100))
            assert len(await received(connection, 100)) == 100
            forwarder.answered(forwarded(peer))

    run(loops, serve, patience=Patience(refill=0.0))


@pytest.mark.parametrize(
    ("sent", "back"),
    [
        pytest.param(600, forwarding._REFILL_BYTES, id="once in a while"),
        pytest.param(100, 100, id="not more than it sent"),
        pytest.param(UNAUTHENTICATED_BYTES // 2 + 1, 0, id="not after half"),
    ],
)
def test_a_stranger_gets_no_more_back(loops: Callable[[Any], None], sent: int, back: int) -> None:

    async def serve(
        forwarder: Forwarder, client: socket.socket, connection: socket.socket, peer: str
    ) -> None:
        loop = asyncio.get_running_loop()
        await loop.sock_sendall(client, bytes(sent))
        assert len(await received(connection, sent)) == sent
        for _ in range(10):
            forwarder.answered(forwarded(peer))
        with contextlib.suppress(ConnectionError):
            await loop.sock_sendall(client, bytes(MANY))
        assert len(await received(connection, MANY)) == UNAUTHENTICATED_BYTES - sent + back

    run(loops, serve, patience=Patience(refill=1e9, full=0.01))


def test_an_end_is_passed_on_in_both_directions(loops: Callable[[Any], None]) -> None:
    async def of_the_client(
        _: Forwarder, client: socket.socket, connection: socket.socket, __: str
    ) -> None:
        client.close()
        assert await received(connection, 1) == b""

    async def of_the_server(
        _: Forwarder, client: socket.socket, connection: socket.socket, __: str
    ) -> None:
        connection.close()
        assert await received(client, 1) == b""

    run(loops, of_the_client)
    run(loops, of_the_server)


def test_a_connection_is_named_after_the_clients_address(loops: Callable[[Any], None]) -> None:
    async def serve(_: Forwarder, __: socket.socket, ___: socket.socket, peer: str) -> None:
        assert forwarded(peer).partition("/")[0] == HOST

    run(loops, serve)
    run(loops, serve, "0.0.0.0")
    assert forwarded("ipv4:192.0.2.1:5000") == ""


def test_a_connection_ends_when_nothing_is_behind(loops: Callable[[Any], None]) -> None:
    async def main() -> None:
        behind = Behind()
        forwarder = Forwarder(HOST, 0)
        forwarder.bind(behind.add_port)
        port = await forwarder.start()
        behind.listener.close()
        reader, writer = await asyncio.open_connection(HOST, port)
        with contextlib.suppress(ConnectionError):
            assert await reader.read() == b""
        writer.close()
        forwarder.stop()

    loops(limited(main()))


def leave_at_once(address: tuple[str, int]) -> None:
    """Connects and resets the connection, again and again."""
    for _ in range(300):
        with socket.create_connection(address) as client:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            client.sendall(b"gone")


@pytest.fixture
def uncollected() -> Iterator[None]:
    """Prevents the garbage collector from closing unreferenced connections."""
    gc.disable()
    yield
    gc.enable()


@pytest.mark.usefixtures("uncollected")
def test_clients_that_leave_at_once_leave_nothing(loops: Callable[[Any], None]) -> None:
    async def main() -> None:
        behind, forwarder = Behind(), Forwarder(HOST, 0)
        forwarder.bind(behind.add_port)
        address = HOST, await forwarder.start()
        for _ in range(3):  # an event loop keeps what it opens for its first sockets
            socket.create_connection(address).close()
            (await behind.accept())[0].close()
        before = len(os.listdir("/proc/self/fd"))
        await asyncio.get_running_loop().run_in_executor(None, leave_at_once, address)
        while len(os.listdir("/proc/self/fd")) > before:
            with contextlib.suppress(BlockingIOError):
                behind.listener.accept()[0].close()
            await asyncio.sleep(0)
        behind.listener.close()
        forwarder.stop()

    loops(limited(main()))


def test_what_is_behind_has_no_name_and_everything_is_given_back(
    loops: Callable[[Any], None],
) -> None:
    async def forward() -> None:
        behind = Behind()
        async with forwarding_to(behind) as (_, client):
            assert not os.path.exists(os.path.dirname(behind.path))
            (await behind.accept())[0].close()
            assert await received(client, 1) == b""

    async def main() -> None:
        await forward()  # an event loop keeps what it opens for its first sockets
        before = len(os.listdir("/proc/self/fd"))
        await forward()
        while len(os.listdir("/proc/self/fd")) > before:
            await asyncio.sleep(0)

    loops(limited(main()))


def test_a_stranger_may_send_as_much_as_the_page_on_threats_says() -> None:
    page = Path(__file__).parents[5] / "docs" / "threats.md"
    assert f"passes {UNAUTHENTICATED_BYTES / 1024:g} KiB of each" in page.read_text()
