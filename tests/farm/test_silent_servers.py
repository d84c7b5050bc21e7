"""Servers of a farm that accept connections or Makes and do not answer are passed over; slow ones are waited for."""

from __future__ import annotations

import contextlib
import queue
import socket
import threading
from collections.abc import Generator, Iterator
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
    with served(handler) as port:
        try:
            yield port
        finally:
            handler.ended.set()


@contextlib.contextmanager
def served(handler: grpc.GenericRpcHandler) -> Generator[int]:
    """Runs a server with a handler, and returns its port."""
    running: Any = grpc.server(ThreadPoolExecutor(16), handlers=[handler])
    port: int = running.add_insecure_port("127.0.0.1:0")
    running.start()
    try:
        yield port
    finally:
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


class Late(grpc.GenericRpcHandler):
    """A server that answers nothing from its first Make on, until it is told to, when it makes a session."""

    def __init__(self) -> None:
        self.answers = threading.Event()
        self.closed: queue.SimpleQueue[bytes] = queue.SimpleQueue()
        self._making = threading.Event()
        self._made = pb.MakeResponse(session_id="late-false", secret=b"its secret")

    def service(self, handler_call_details: grpc.HandlerCallDetails) -> Any:
        method = handler_call_details.method.rpartition("/")[2]
        handlers: Any = grpc
        if method == "Interact":
            return handlers.stream_stream_rpc_method_handler(self._interact)
        serve = {"Make": self._make, "Close": self._close}.get(method, self._other)
        return handlers.unary_unary_rpc_method_handler(serve)

    def _make(self, _: bytes, __: grpc.ServicerContext) -> bytes:
        self._making.set()
        assert self.answers.wait(SECONDS)
        return self._made.SerializeToString()

    def _interact(
        self, requests: Iterator[bytes], context: grpc.ServicerContext
    ) -> Iterator[bytes]:
        for request in requests:
            made = self._make(request, context)
            yield pb.InteractResponse(make=pb.MakeResponse.FromString(made)).SerializeToString()

    def _close(self, request: bytes, _: grpc.ServicerContext) -> bytes:
        self.closed.put(pb.CloseRequest.FromString(request).header.secret)
        return b""

    def _other(self, _: bytes, __: grpc.ServicerContext) -> bytes:
        if self._making.is_set():
            assert self.answers.wait(SECONDS)
        return b""


@pytest.mark.parametrize("transport", ["stream", "unary"])
def test_a_session_made_after_its_make_has_gone_elsewhere_is_closed(
    gateway: Gateway, transport: str
) -> None:
    """Its slot was taken until its lease ran out: nobody knew of it."""
    late = Late()
    with served(late) as port, joined(gateway, port):
        request = pb.MakeRequest(env_id=ENV)
        if transport == "unary":
            made = gateway.environments.Make(request, timeout=SECONDS)
        else:
            requests = iter([pb.InteractRequest(make=request)])
            made = next(gateway.environments.Interact(requests, timeout=SECONDS)).make
        assert made.session_id != "late-false"
        late.answers.set()
        assert late.closed.get(timeout=SECONDS) == b"its secret"
