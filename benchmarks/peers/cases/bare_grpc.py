"""The lower bound of gRPC in Python: bytes through a stock asyncio server and a stock blocking client.

The variant is the method, "unary" or "stream". It uses no protobuf: the bytes are the messages.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Generator
from contextlib import contextmanager
from queue import SimpleQueue
from typing import Any

import grpc
import grpc.aio

from benchmarks.peers.cases.raw_tcp import EXTRA_BYTES, REQUEST_BYTES
from benchmarks.peers.setup import Setup, Step

OPTIONS = [("grpc.max_receive_message_length", -1), ("grpc.max_send_message_length", -1)]


async def _serve(reply: bytes, announce: Callable[[int], None]) -> None:
    async def unary(_: bytes, __: Any) -> bytes:
        return reply

    async def stream(_: Any, context: Any) -> None:
        while (await context.read()) is not grpc.aio.EOF:
            await context.write(reply)

    handlers: dict[str, Any] = {
        "unary": grpc.unary_unary_rpc_method_handler(unary),
        "stream": grpc.stream_stream_rpc_method_handler(stream),
    }
    server = grpc.aio.server(options=OPTIONS)
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("Echo", handlers),))
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    announce(port)
    await server.wait_for_termination()


def serve(setup: Setup, announce: Callable[[int], None]) -> None:
    """Answers each request with as many bytes as a step of that size."""
    asyncio.run(_serve(bytes(setup.size + EXTRA_BYTES), announce))


@contextmanager
def connect(setup: Setup, port: int) -> Generator[Step]:
    """Yields one call, or one exchange on a stream."""
    request = bytes(REQUEST_BYTES)
    # By default, channels to one address share a connection; clients in different processes would not.
    options = [*OPTIONS, ("grpc.use_local_subchannel_pool", 1)]
    # Without a serializer the messages are bytes, which the type stubs do not express.
    channel: Any
    with grpc.insecure_channel(f"127.0.0.1:{port}", options) as channel:
        if setup.variant == "unary":
            call = channel.unary_unary("/Echo/unary")
            yield lambda: call(request)
            return
        requests = SimpleQueue[Any]()
        replies = channel.stream_stream("/Echo/stream")(iter(requests.get, None))

        def exchange() -> object:
            requests.put(request)
            return next(replies)

        yield exchange
        replies.cancel()
