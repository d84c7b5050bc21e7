"""The gateway's direct port: how many clients may wait for a server, and how many channels it may have."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Coroutine
from typing import Any

from envwire.conformance.raw.direct_link import frame
from envwire.farm.gateway.config import GatewayConfig
from envwire.farm.gateway.registry.states import Member
from envwire.farm.gateway.relaying.channels import ChannelRelay
from envwire.farm.v1 import farm_pb2
from envwire.server._front.hello_frames import MOST_OPENING
from envwire.server._front.pipe import PipeEnd
from envwire.v1 import direct_pb2
from envwire.v1 import environment_pb2 as pb
from envwire.wire.frames import PREAMBLE

HELLO = direct_pb2.HelloRequest(header=pb.SessionHeader(session_id="one-run"))
SLOTS = 2


class Server:
    """A server that is told to connect, and does when the test says so."""

    def __init__(self) -> None:
        hello = farm_pb2.ServerHello(server_id="server", dials_channels=True)
        hello.info.incarnation, hello.info.max_sessions = "run", SLOTS
        self.member = Member(hello, "server:1", 0.0)
        self.connects = asyncio.Event()
        self.asked = 0
        self.far: list[socket.socket] = []

    async def owner(self, _: str) -> Member:
        return self.member

    def for_channels(self, _: Member) -> Server:
        return self

    async def open_channel(self, *_: Any) -> PipeEnd:
        self.asked += 1
        await self.connects.wait()
        end, loop = PipeEnd(), asyncio.get_running_loop()
        near, far = socket.socketpair()
        self.far.append(far)
        await loop.create_connection(lambda: end, sock=near)
        return end


class Scene:
    """A relay, and clients of it."""

    def __init__(self) -> None:
        self.server: Any = Server()
        self.relay = ChannelRelay(GatewayConfig(), self.server, self.server)
        self.relay.start()
        self.clients: list[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = []

    async def connect(self) -> asyncio.StreamReader:
        reader, writer = await asyncio.open_connection("127.0.0.1", self.relay.port)
        self.clients.append((reader, writer))
        writer.write(PREAMBLE + frame(HELLO))
        return reader

    async def until_asked(self, count: int) -> None:
        while self.server.asked < count:
            await asyncio.sleep(0.01)

    async def close(self) -> None:
        self.relay.stop()
        for reader, writer in self.clients:
            writer.close()
            await reader.read()
        for far in self.server.far:
            far.close()


def run(scene: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(scene, 60.0))


def test_as_many_clients_wait_for_a_server_as_it_opens_at_a_time() -> None:
    async def play() -> None:
        scene = Scene()
        for _ in range(MOST_OPENING):
            await scene.connect()
        await scene.until_asked(MOST_OPENING)
        one_more = await scene.connect()
        assert await one_more.read() == b""
        assert scene.server.asked == MOST_OPENING
        await scene.close()

    run(play())


def test_a_server_has_two_channels_for_each_of_its_sessions_at_most() -> None:
    async def play() -> None:
        scene = Scene()
        scene.server.connects.set()
        for count in range(1, 2 * SLOTS + 1):
            await scene.connect()
            await scene.until_asked(count)
        one_more = await scene.connect()
        assert await one_more.read() == b""
        scene.clients[0][1].close()
        while scene.server.asked == 2 * SLOTS:
            await scene.connect()
            await asyncio.sleep(0.1)
        await scene.close()

    run(play())
