"""Channel orders: whom a server connects to, and what it says when it does not."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

import pytest

from envwire.codec import FaultError, Reason
from envwire.codec.errors.statuses import reason_of
from envwire.farm.v1 import farm_pb2
from envwire.server._front.direct_listener import Peer
from envwire.server._front.farm import orders
from envwire.server._front.farm.orders import ChannelOrders, gateway_client
from envwire.server._front.hello_frames import KEY_BYTES, MOST_OPENING, RELAY_PREAMBLE
from envwire.v1 import direct_pb2

KEY = b"k" * KEY_BYTES


class Direct:
    """Admits all clients, or refuses all."""

    def __init__(self, fault: FaultError | None = None) -> None:
        self.admitted: list[str] = []
        self._fault = fault

    async def admit_through_gateway(
        self, _: direct_pb2.HelloRequest, connecting: Coroutine[Any, Any, Peer]
    ) -> None:
        if self._fault:
            connecting.close()
            raise self._fault
        peer = await connecting
        self.admitted.append(peer.address)
        peer.connection.close()


class Scene:
    """A gateway's direct port, and orders to a server that joined at a host."""

    def __init__(self, direct: Direct, host: str = "127.0.0.1") -> None:
        self.answers: asyncio.Queue[farm_pb2.ChannelAnswer] = asyncio.Queue()
        self.seen: asyncio.Queue[bytes] = asyncio.Queue()
        self._server: asyncio.Server | None = None
        directs: Any = direct
        self.orders = ChannelOrders(directs, host, None, self._answer)

    async def _answer(self, report: farm_pb2.RegisterRequest) -> None:
        await self.answers.put(report.channel_answer)

    async def listen(self) -> int:
        server = self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        port: int = server.sockets[0].getsockname()[1]
        return port

    def close(self) -> None:
        self.orders.stop()
        if self._server is not None:
            self._server.close()

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await self.seen.put(await reader.read())
        writer.close()

    def order(self, port: int) -> None:
        self.orders.obey(farm_pb2.ChannelOrder(key=KEY, port=port))


def run(scene: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(scene, 30.0))


def test_a_server_connects_to_the_host_that_it_joined() -> None:
    async def play() -> None:
        scene = Scene(direct := Direct())
        scene.order(await scene.listen())
        assert await scene.seen.get() == RELAY_PREAMBLE + KEY
        assert direct.admitted == ["127.0.0.1"]
        assert scene.answers.empty()
        scene.close()

    run(play())


def test_it_does_not_connect_for_a_client_that_it_refuses() -> None:
    async def play() -> None:
        scene = Scene(Direct(FaultError(Reason.WRONG_SECRET, "no")))
        scene.order(await scene.listen())
        answer = await scene.answers.get()
        assert (answer.key, reason_of(answer.error)) == (KEY, Reason.WRONG_SECRET)
        assert scene.seen.empty()
        scene.close()

    run(play())


def test_a_gateway_that_cannot_be_reached_is_told_so(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def play() -> None:
        scene = Scene(Direct())
        scene.order(1)
        assert not (await scene.answers.get()).HasField("error")
        assert "Connect call failed" in caplog.text
        monkeypatch.setattr(orders, "CONNECT_SECONDS", 0.01)
        monkeypatch.setattr(orders, "dial", lambda *_: asyncio.sleep(60.0))
        scene.order(1)
        assert not (await scene.answers.get()).HasField("error")
        assert "no answer within 0.01 s" in caplog.text

    run(play())


def test_channels_that_were_opened_make_room(caplog: pytest.LogCaptureFixture) -> None:
    async def play() -> None:
        scene = Scene(Direct())
        for _ in range(MOST_OPENING + 1):
            scene.order(1)
            await scene.answers.get()
        scene.close()

    run(play())
    assert "are being opened" not in caplog.text


def test_a_gateway_has_all_scopes_if_the_server_showed_it_a_token() -> None:
    gateway_client("g:1", shown_token=True).check("end_session")
    listing = gateway_client("g:1", shown_token=False)
    listing.check("list_sessions")
    with pytest.raises(FaultError) as told:
        listing.check("end_session")
    assert told.value.reason is Reason.SCOPE_MISSING


def test_as_many_channels_are_opened_at_a_time_as_are_said(monkeypatch: pytest.MonkeyPatch) -> None:
    async def play() -> None:
        monkeypatch.setattr(orders, "dial", lambda *_: asyncio.sleep(60.0))
        scene = Scene(Direct())
        for _ in range(MOST_OPENING):
            scene.order(1)
        await asyncio.sleep(0)
        assert scene.answers.empty()
        scene.order(1)
        assert not (await scene.answers.get()).HasField("error")
        scene.close()

    run(play())
