"""Answers over gRPC that cannot be parsed are reported as a broken protocol, by every transport."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import grpc
import pytest

from envwire.client import RemoteEnv, RemoteError, RemoteVectorEnv, aio
from envwire.codec.errors.statuses import TRAILER
from envwire.v1 import environment_pb2 as pb
from envwire.wire.envelope import RESPONSES

TRANSPORT = pytest.mark.parametrize("transport", ["unary", "stream", "direct", "direct-tcp"])
BROKEN = b"\xff\xff"


class Broken(grpc.GenericRpcHandler):
    """Answers each Make with the same bytes, and with notices beside them over unary calls."""

    def __init__(self, made: bytes, notices: bytes) -> None:
        self._made, self._notices = made, notices

    def service(self, handler_call_details: Any) -> Any:
        """Returns the handler of a method."""
        if handler_call_details.method.endswith("/Interact"):
            return grpc.stream_stream_rpc_method_handler(self._interact)
        if handler_call_details.method.endswith("/Make"):
            return grpc.unary_unary_rpc_method_handler(self._make)
        return grpc.unary_unary_rpc_method_handler(lambda _, __: b"")

    def _make(self, _: bytes, context: Any) -> bytes:
        context.set_trailing_metadata(((TRAILER, self._notices),))
        return self._made

    def _interact(self, requests: Iterator[bytes], _: Any) -> Iterator[bytes]:
        for _ in requests:
            yield RESPONSES.wrap("make", self._made)


@contextmanager
def serving(
    made: bytes, notices: bytes = b"", compression: grpc.Compression | None = None
) -> Iterator[str]:
    with ThreadPoolExecutor(4) as pool:
        server = grpc.server(pool, compression=compression)
        server.add_generic_rpc_handlers((Broken(made, notices),))
        port = server.add_insecure_port("127.0.0.1:0")
        server.start()
        yield f"127.0.0.1:{port}"
        server.stop(None).wait()


def refused() -> Any:
    return pytest.raises(RemoteError, match="an answer of the server breaks the protocol")


@TRANSPORT
def test_an_answer_to_a_make(transport: str) -> None:
    with serving(BROKEN) as target:
        with refused():
            RemoteEnv(target, "x", transport=transport)
        with refused():
            RemoteVectorEnv(target, "x", num_envs=2, transport=transport)


@TRANSPORT
def test_an_answer_to_a_make_in_an_event_loop(transport: str) -> None:
    with serving(BROKEN) as target, refused():
        asyncio.run(aio.RemoteEnv.make(target, "x", transport=transport))


@pytest.mark.parametrize("transport", ["unary", "direct"])
def test_notices_beside_an_answer(transport: str) -> None:
    made = pb.MakeResponse(session_id="x", secret=b"x").SerializeToString()
    with serving(made, BROKEN) as target, refused():
        RemoteEnv(target, "x", transport=transport)


@TRANSPORT
def test_what_is_compressed_is_not_unpacked(transport: str) -> None:
    """A kilobyte of it could be a megabyte, and a megabyte all memory of the client."""
    with (
        serving(bytes(2**20), compression=grpc.Compression.Gzip) as target,
        pytest.raises(RemoteError, match="Compression algorithm not supported: gzip"),
    ):
        RemoteEnv(target, "CartPole-v1", transport=transport)
