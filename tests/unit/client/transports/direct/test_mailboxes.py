"""A channel with a mailbox: replies are found in the box and on the socket, and no reader sleeps while one is there."""

from __future__ import annotations

import asyncio
import contextlib
import mmap
import socket
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from envwire.client._transports.direct import direct_channel
from envwire.client._transports.direct.async_frames import AsyncFrames
from envwire.client._transports.direct.direct import DirectTransport
from envwire.client._transports.direct.direct_channel import Channel
from envwire.client._transports.transport import ARRIVED
from envwire.client.credentials import Credentials
from envwire.v1 import direct_pb2
from envwire.wire.frames import HEADER
from envwire.wire.local_channel import BOX_BYTES, WAKE, AdaptiveSpin, Mailbox
from tests.unit.client.transports.direct.test_direct import Grpc

SECONDS = 60.0
REPLY = HEADER.pack(2, 0, 0) + b"ok"


class Server:
    """The server's end of a channel with a mailbox."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        ours, self.socket = socket.socketpair()
        memory = mmap.mmap(-1, 2 * BOX_BYTES)
        Mailbox.prepare(memory, BOX_BYTES)
        self.mailbox = Mailbox(memory, BOX_BYTES, self.socket.sendall, server=True)
        self.channel = Channel(ours)
        client = Mailbox(memory, BOX_BYTES, ours.sendall, server=False)
        monkeypatch.setattr(direct_channel, "map_mailbox", lambda *_: client)
        welcome = direct_pb2.Welcome(mailbox=direct_pb2.Mailbox(box_bytes=BOX_BYTES))
        self.channel._map(welcome, [0])

    def reply(self) -> bool:
        """Sends a reply; returns whether it went into the box."""
        put = self.mailbox.put(REPLY)
        if not put:
            self.socket.sendall(REPLY)
        return put


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    made = Server(monkeypatch)
    yield made
    made.channel.close()
    made.socket.close()


class Before:
    """A socket that calls a function before each `recv`, with the number of the call."""

    def __init__(self, sock: Any, receiving: Callable[[int], object]) -> None:
        self._socket, self._receiving, self._calls = sock, receiving, 0

    def recv(self, *args: Any) -> bytes:
        self._calls += 1
        self._receiving(self._calls)
        return bytes(self._socket.recv(*args))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._socket, name)


def test_a_reader_whom_a_late_wake_reached_does_not_sleep_beside_its_reply(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(AdaptiveSpin, "short", property(lambda _: True, lambda *_: None))
    channel, replies = server.channel, list[bool]()

    def receiving(call: int) -> None:
        if call == 2:  # the wake was read
            replies.append(server.reply())

    channel.connection = Before(channel.connection, receiving)  # type: ignore[assignment]
    channel.send(b"step", 1.0)
    server.socket.sendall(WAKE)
    assert channel.receive().message == b"ok"
    assert replies == [False]


def test_a_descriptor_to_poll_gets_the_reply_that_is_not_in_the_box(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    transport = DirectTransport("127.0.0.1:1", "direct", lambda *_: Grpc("", [], ""), Credentials())
    monkeypatch.setattr(transport, "_channel", server.channel)
    for arrived in (True, False):
        server.channel.look()
        server.channel.send(b"step", 1.0)
        if arrived:
            assert server.reply()
            assert transport.fileno() == ARRIVED
        else:
            assert transport.fileno() == server.channel.fileno()
            assert not server.reply()
        assert transport.receive().message == b"ok"


@pytest.mark.parametrize("wakes", [0, 1, 3])
def test_replies_come_by_either_way_whatever_wakes_come(
    server: Server, wakes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(AdaptiveSpin, "short", property(lambda _: True, lambda *_: None))
    for count in range(20):
        server.channel.send(b"step", 1.0)
        server.socket.sendall(WAKE * wakes)
        awake = count % 3 > 0
        server.channel.look() if awake else server.channel.sleep()
        assert server.reply() is awake
        assert server.channel.receive().message == b"ok"


def test_wakes_without_end_do_not_outlast_the_timeout(server: Server) -> None:
    channel = server.channel
    channel.connection = Before(  # type: ignore[assignment]
        channel.connection, lambda _: server.socket.sendall(WAKE)
    )
    channel.send(b"step", 0.05)
    with pytest.raises(BlockingIOError):
        channel.receive()


def test_wakes_without_end_do_not_keep_a_loop(server: Server) -> None:
    channel = server.channel
    channel.connection = Before(  # type: ignore[assignment]
        channel.connection, lambda _: server.socket.sendall(WAKE)
    )
    with pytest.raises(BlockingIOError):
        channel.read_reply(socket.MSG_DONTWAIT)


def test_a_box_that_fills_with_nothing_without_end_breaks_the_channel(server: Server) -> None:
    server.channel.look()
    server.channel.send(b"step", SECONDS)
    assert server.mailbox.put(WAKE)
    with pytest.raises(ConnectionResetError, match="not a frame"):
        server.channel.receive()


def test_a_wake_for_which_there_is_no_room_is_not_waited_for(server: Server) -> None:
    """The server has bytes to read then, so it is awake."""
    sock = server.channel.connection
    with contextlib.suppress(BlockingIOError):
        while True:
            sock.send(WAKE, socket.MSG_DONTWAIT)
    direct_channel._wake(sock, WAKE)


def test_a_loop_that_sleeps_gets_its_replies_on_the_socket(server: Server) -> None:
    async def drive() -> list[bool]:
        frames = AsyncFrames(server.channel, lambda error, _: error)
        ways = list[bool]()
        for _ in range(5):
            reply = asyncio.ensure_future(frames.exchange(b"step", 5.0))
            await asyncio.sleep(0)
            ways.append(server.reply())
            assert (await reply).message == b"ok"
        frames.release()
        return ways

    server.channel.look()  # a thread left it awake
    assert not asyncio.run(drive())[0]


def test_a_loop_that_polls_finds_its_replies_in_the_box(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(AdaptiveSpin, "short", property(lambda _: True, lambda *_: None))
    monkeypatch.setattr(AdaptiveSpin, "goes_on", lambda _: True)

    async def drive() -> list[bool]:
        frames = AsyncFrames(server.channel, lambda error, _: error)
        ways = list[bool]()
        for _ in range(5):
            reply = asyncio.ensure_future(frames.exchange(b"step", 5.0))
            for _ in range(3):
                await asyncio.sleep(0)
            ways.append(server.reply())
            assert (await reply).message == b"ok"
        frames.release()
        return ways

    assert asyncio.run(drive()) == [True] * 5


def test_a_wake_that_comes_when_no_reply_is_awaited_is_none(server: Server) -> None:
    async def drive() -> None:
        frames = AsyncFrames(server.channel, lambda error, _: error)
        for _ in range(3):
            server.socket.sendall(WAKE)
            await asyncio.sleep(0.01)
            reply = asyncio.ensure_future(frames.exchange(b"step", 5.0))
            await asyncio.sleep(0)
            server.reply()
            assert (await reply).message == b"ok"
        frames.release()

    asyncio.run(drive())


def test_a_reply_that_nobody_awaits_ends_the_channel(server: Server) -> None:
    async def drive() -> None:
        frames = AsyncFrames(server.channel, lambda error, _: error)
        server.socket.sendall(REPLY)
        await asyncio.sleep(0.01)
        with pytest.raises(OSError, match=r"."):
            await frames.exchange(b"step", 5.0)

    asyncio.run(drive())
