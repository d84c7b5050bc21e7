"""A watcher that does not read is dropped."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from typing import Any

import grpc
import pytest

from envwire.observe.v1 import observe_pb2 as pb
from envwire.server._auth.access import Access
from envwire.server._front.grpc import grpc_server
from envwire.server.config import ServerConfig


class Ended(Exception):
    """The call was ended by the server."""


class Unread:
    """A call whose client reads the first message and no other."""

    def __init__(self) -> None:
        self.written = 0

    def invocation_metadata(self) -> tuple[()]:
        return ()

    def auth_context(self) -> dict[str, list[bytes]]:
        return {}

    def peer(self) -> str:
        return "ipv4:127.0.0.1:1234"

    async def read(self) -> bytes:
        return b""

    async def write(self, _: bytes) -> None:
        self.written += 1
        if self.written > 1:
            await asyncio.Event().wait()

    async def abort(self, code: grpc.StatusCode, text: str, _: Any) -> None:
        raise Ended(code, text)


class Service:
    """Tells more than anybody reads."""

    def __init__(self) -> None:
        self.left = 0

    async def watch(self, _: bytes, __: Any) -> AsyncGenerator[pb.WatchResponse]:
        try:
            while True:
                yield pb.WatchResponse(complete=True)
        finally:
            self.left += 1

    watch_frames = describe_session = watch


def test_a_watcher_that_does_not_read_is_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grpc_server, "_UNREAD_SECONDS", 0.01)
    service: Any = Service()
    context: Any = Unread()
    handlers: Any = grpc_server.watching_handlers(service, Access(ServerConfig(["CartPole-v1"])))
    details: Any = type("Details", (), {"method": f"/{grpc_server.OBSERVE_SERVICE}/Watch"})()
    behaviour = handlers.service(details).stream_stream

    async def main() -> None:
        await asyncio.wait_for(behaviour(None, context), 60.0)

    with pytest.raises(Ended) as ended:
        asyncio.run(main())
    assert ended.value.args[0] is grpc.StatusCode.RESOURCE_EXHAUSTED
    assert "left unread" in ended.value.args[1]
    assert context.written == 2, "one message waits for a watcher, and no more"
    assert service.left == 1
