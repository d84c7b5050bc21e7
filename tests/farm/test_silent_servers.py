"""Servers of a farm that accept connections or Makes and do not answer are passed over; slow ones are waited for."""

from __future__ import annotations

import contextlib
import queue
import socket
import threading
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import grpc
import pytest

from envwire.client import RemoteEnv, RemoteError
from envwire.farm.v1 import farm_pb2
from envwire.v1 import environment_pb2 as pb
from envwire.v1 import specs_pb2
from tests.farm.scene import ENV, SECONDS, Gateway, server

#: Shorter than gRPC waits for a server that accepts a connection and says nothing (20 s).
TIMEOUT = 15.0


@pytest.fixture
def gateway() -> Generator[Gateway]:
    """A gateway of a farm with one server that works, and is not the first choice, since it has a session."""
    gateway = Gateway().start()
    try:
        with server(gateway, max_sessions=4) as works:
            gateway.await_servers(works)
            with contextlib.closing(RemoteEnv(works.target, ENV)):
                gateway.wait_until(lambda: gateway.servers()[works.target].active_sessions == 1)
                yield gateway
    finally:
        gateway.kill()


@contextlib.contextmanager
def joined(gateway: Gateway, port: int) -> Generator[None]:
    """Registers a server at a port with more room than the others, which grants all slots."""
    reports: queue.SimpleQueue[farm_pb2.RegisterRequest | None] = queue.SimpleQueue()
    hello = farm_pb2.ServerHello(
        server_id="false",
        address=f"127.0.0.1:{port}",
        info=pb.GetServerInfoResponse(max_sessions=100, incarnation="false"),
        environments=[pb.EnvironmentListing(spec=specs_pb2.EnvSpec(id=ENV))],
        keeps_slots=True,
    )
    reports.put(farm_pb2.RegisterRequest(hello=hello))
    call = gateway.farm.Register(iter(reports.get, None))
    ended = threading.Event()

    def grant() -> None:
        with contextlib.suppress(grpc.RpcError):
            for response in call:
                if response.HasField("slot_order"):
                    asked = response.slot_order.reservation_id
                    answer = farm_pb2.SlotAnswer(reservation_id=asked, granted=True)
                    reports.put(farm_pb2.RegisterRequest(slot_answer=answer))

    def report() -> None:
        while not ended.wait(0.3):
            reports.put(farm_pb2.RegisterRequest(load=farm_pb2.ServerLoad()))

    with ThreadPoolExecutor() as pool:
        pool.submit(grant)
        pool.submit(report)
        gateway.wait_until(lambda: gateway.states().get(f"127.0.0.1:{port}") == "FREE")
        try:
            yield
        finally:
            ended.set()
            call.cancel()
            reports.put(None)


class Speaking(grpc.GenericRpcHandler):
    """A server whose Makes take long.

    Args:
        silent: Whether it answers nothing once it has a Make; otherwise it refuses the Make after some other requests.
    """

    def __init__(self, silent: bool) -> None:
        self._silent = silent
        self._left = threading.Semaphore(0)
        self.ended = threading.Event()
        self._making = threading.Event()

    def service(self, handler_call_details: grpc.HandlerCallDetails) -> Any:
        made = handler_call_details.method.endswith("/Make")
        handlers: Any = grpc
        return handlers.unary_unary_rpc_method_handler(self._make if made else self._answer)

    def _make(self, __: bytes, context: grpc.ServicerContext) -> bytes:
        self._making.set()
        if self._silent:
            self.ended.wait(SECONDS)
        for _ in range(3):
            assert self._left.acquire(timeout=SECONDS)
        context.abort(grpc.StatusCode.FAILED_PRECONDITION, "slow, and here")

    def _answer(self, _: bytes, __: grpc.ServicerContext) -> bytes:
        if self._making.is_set():
            self._left.release()
            if self._silent:
                self.ended.wait(SECONDS)
        return b""


@contextlib.contextmanager
def speaking(*, silent: bool) -> Generator[int]:
    """Runs a server, and returns its port."""
    handler = Speaking(silent)
    running: Any = grpc.server(ThreadPoolExecutor(16), handlers=[handler])
    port: int = running.add_insecure_port("127.0.0.1:0")
    running.start()
    try:
        yield port
    finally:
        handler.ended.set()
        running.stop(None).wait()


@contextlib.contextmanager
def mute() -> Generator[int]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield listener.getsockname()[1]


@pytest.mark.parametrize("transport", ["stream", "unary"])
@pytest.mark.parametrize("kind", ["mute", "mute after a Make"])
def test_a_server_that_does_not_answer_is_passed_over(
    gateway: Gateway, kind: str, transport: str
) -> None:
    running = mute() if kind == "mute" else speaking(silent=True)
    with running as port, joined(gateway, port):
        # Its ticket is for that server, to which the gateway relays the Make at first as well.
        env = RemoteEnv(gateway.target, ENV, transport=transport, timeout=TIMEOUT)
        env.reset(seed=0)
        env.close()


def test_a_server_that_makes_slowly_is_waited_for(gateway: Gateway) -> None:
    with (
        speaking(silent=False) as port,
        joined(gateway, port),
        pytest.raises(RemoteError, match="slow, and here"),
    ):
        RemoteEnv(gateway.target, ENV, timeout=TIMEOUT)


def test_the_gateway_waits_for_a_server_that_makes_slowly(gateway: Gateway) -> None:
    with (
        speaking(silent=False) as port,
        joined(gateway, port),
        pytest.raises(grpc.RpcError, match="slow, and here"),
    ):
        gateway.make()
