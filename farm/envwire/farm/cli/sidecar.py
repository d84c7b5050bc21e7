"""Registers a server with a farm's gateways in its place: one of another language, or older than farms."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import grpc
import grpc.aio

from envwire.codec.messages import to_seconds
from envwire.farm.v1 import farm_pb2, farm_pb2_grpc
from envwire.v1 import environment_pb2 as pb
from envwire.v1 import environment_pb2_grpc
from envwire.wire.addresses import NO_PROXY

_log = logging.getLogger("envwire.farm")

#: Seconds between two questions for the server's load, and longest wait for an answer of the server or a gateway.
_POLL_SECONDS, _ANSWER_SECONDS = 0.25, 2.0
#: Bounds of the pause before the next attempt to register, in seconds; it doubles each time.
_FIRST_PAUSE, _MAX_PAUSE = 0.1, 1.0
_OPTIONS = (NO_PROXY, ("grpc.use_local_subchannel_pool", 1))
_FAILURES = (grpc.RpcError, asyncio.TimeoutError, asyncio.InvalidStateError, OSError)


@dataclass(frozen=True)
class Served:
    """The server that is registered.

    Attributes:
        target: HOST:PORT at which the sidecar asks it.
        advertise: HOST:PORT at which the gateways and clients reach it.
        ca: PEM file of the CA of its certificate; empty for no TLS.
        token: Token to ask it with; empty for none.
        labels: Labels for allocations.
    """

    target: str
    advertise: str
    ca: str
    token: str
    labels: dict[str, str]


@dataclass(frozen=True)
class Joining:
    """How gateways are joined.

    Attributes:
        gateways: HOST:PORT of each.
        token: Token of scope join; empty for none.
        ca: PEM file of the CA of their certificates; empty for no TLS.
    """

    gateways: Sequence[str]
    token: str
    ca: str


class Sidecar:
    """Keeps a server registered while it answers.

    Args:
        served: The server.
        joining: The gateways.
    """

    def __init__(self, served: Served, joining: Joining) -> None:
        self._served = served
        self._joining = joining
        self._leaving = asyncio.Event()

    async def run(self, stop: asyncio.Event) -> None:
        """Keeps the server registered with all gateways until `stop` is set."""
        tasks = [asyncio.ensure_future(self._stay(each)) for each in self._joining.gateways]
        await stop.wait()
        self._leaving.set()
        await asyncio.wait(tasks, timeout=_ANSWER_SECONDS)
        for each in tasks:
            each.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _stay(self, gateway: str) -> None:
        pause, logged, clock = _FIRST_PAUSE, "", asyncio.get_running_loop().time
        while not self._leaving.is_set():
            begun = clock()
            try:
                await self._register(gateway)
            except _FAILURES as error:
                reason = _reason(error)
                if reason != logged:  # log it once, not at each attempt
                    _log.warning("not registered with gateway %s: %s", gateway, reason)
                logged = reason
            if clock() - begun > _MAX_PAUSE:  # it worked for a while
                pause, logged = _FIRST_PAUSE, ""
            await self._rest(pause * random.uniform(0.5, 1.0))  # noqa: S311
            pause = min(2 * pause, _MAX_PAUSE)

    async def _rest(self, seconds: float) -> None:
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(self._leaving.wait(), seconds)

    async def _register(self, gateway: str) -> None:
        """Registers the server, and reports its load until it, or the gateway, ends that.

        When the server does not answer, the registration breaks without a goodbye, and the gateway probes the server.
        """
        server = _channel(self._served.target, self._served.ca)
        async with server, _channel(gateway, self._joining.ca) as channel:
            asking = environment_pb2_grpc.EnvironmentServiceStub(server)
            hello = await self._hello(asking)
            farm: Any = farm_pb2_grpc.FarmServiceStub(channel)
            call = farm.Register(metadata=_bearer(self._joining.token))
            await call.write(farm_pb2.RegisterRequest(hello=hello))
            answer = await asyncio.wait_for(call.read(), _ANSWER_SECONDS)
            if answer is grpc.aio.EOF:
                raise asyncio.InvalidStateError
            _log.info("registered %s with gateway %s", hello.server_id, gateway)
            beat = to_seconds(answer.heartbeat) or 1.0
            await self._report(asking, call, hello.info.incarnation, beat)

    async def _report(self, asking: Any, call: Any, incarnation: str, beat: float) -> None:
        reported, age = None, 0.0
        while not self._leaving.is_set():
            info = await self._ask(asking.GetServerInfo, pb.GetServerInfoRequest())
            if info.incarnation != incarnation:
                raise OSError("the server was started again")
            load = farm_pb2.ServerLoad(active_sessions=info.active_sessions, draining=info.draining)
            if load != reported or age + _POLL_SECONDS >= beat:
                await call.write(farm_pb2.RegisterRequest(load=load))
                reported, age = load, 0.0
            await self._rest(_POLL_SECONDS)
            age += _POLL_SECONDS
        await call.done_writing()
        await asyncio.wait_for(call.read(), _ANSWER_SECONDS)

    async def _hello(self, asking: Any) -> farm_pb2.ServerHello:
        info = await self._ask(asking.GetServerInfo, pb.GetServerInfoRequest())
        listed = await self._ask(asking.ListEnvironments, pb.ListEnvironmentsRequest())
        return farm_pb2.ServerHello(
            server_id=self._served.advertise,
            address=self._served.advertise,
            info=info,
            environments=listed.environments,
            labels=self._served.labels,
        )

    async def _ask(self, method: Any, request: Any) -> Any:
        metadata = _bearer(self._served.token)
        try:
            return await method(request, timeout=_ANSWER_SECONDS, metadata=metadata)
        except grpc.aio.AioRpcError as error:
            why = f"{error.code().name}: {error.details()}"
            raise OSError(f"the server at {self._served.target} does not answer: {why}") from error


def _bearer(token: str) -> tuple[tuple[str, str], ...]:
    return (("authorization", f"Bearer {token}"),) if token else ()


def _channel(target: str, ca: str) -> grpc.aio.Channel:
    if not ca:
        return grpc.aio.insecure_channel(target, _OPTIONS)
    credentials = grpc.ssl_channel_credentials(Path(ca).read_bytes())
    return grpc.aio.secure_channel(target, credentials, _OPTIONS)


def _reason(error: Exception) -> str:
    if isinstance(error, grpc.aio.AioRpcError):
        return f"{error.code().name}: {error.details()}"
    if isinstance(error, asyncio.TimeoutError):
        return f"no answer within {_ANSWER_SECONDS:g} s"
    return str(error) or "it ended the registration"
