"""Registers a server with the gateways of a farm, again whenever a registration ends."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import random
import socket
import ssl
from collections.abc import AsyncGenerator, Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Any

import grpc.aio

from envwire.codec.messages import to_seconds
from envwire.farm.v1 import farm_pb2
from envwire.server._front.farm.orders import AdminOrders, ChannelOrders, gateway_client
from envwire.server._front.farm.tunnelling import carry_connection
from envwire.server._front.front import Front
from envwire.server._processes.interpreter import fingerprint
from envwire.server._settings.listening import host_of, is_unspecified, local_target
from envwire.server.config import ServerConfig
from envwire.wire.addresses import NO_PROXY

_log = logging.getLogger("envwire.server")

_REGISTER = "/envwire.farm.v1.FarmService/Register"
#: Longest wait for a gateway's answer to a hello, in seconds.
_ANSWER_SECONDS = 5.0
#: Seconds between two readings of the load, which takes 0.1 ms; it is reported when it has changed.
_POLL_SECONDS = 0.1
#: Seconds between reports of totals and of usage, for which the front reads a file for each session process.
_TOTALS_SECONDS = 5.0
#: Bounds of the pause before the next attempt, in seconds. It doubles each time and is random, so that the servers of a
#: farm do not all return at once. A restarted gateway has its servers again within the longest pause.
_FIRST_PAUSE, _MAX_PAUSE = 0.1, 1.0
_OPTIONS = (
    NO_PROXY,
    ("grpc.use_local_subchannel_pool", 1),  # otherwise gRPC's backoff outlives the channel
    ("grpc.max_send_message_length", -1),
    ("grpc.keepalive_time_ms", 10_000),
    ("grpc.keepalive_timeout_ms", 5_000),
)


@contextlib.asynccontextmanager
async def joined(
    config: ServerConfig, front: Front, target: str, token: str
) -> AsyncGenerator[None]:
    """Keeps a server registered with its gateways.

    Args:
        config: The server's settings.
        front: Describes the server and its load.
        target: HOST:PORT that the server is bound to.
        token: Token to join with; empty to use the file that the settings name, if any.

    Raises:
        OSError: A file named in the settings cannot be read.
    """
    if not config.gateways:
        yield
        return
    joiner = Joiner(config, front, target, token)
    tasks = [asyncio.ensure_future(joiner.stay(name)) for name in config.gateways]
    try:
        yield
    finally:
        joiner.leave()
        await asyncio.wait(tasks, timeout=_POLL_SECONDS * 5)
        for task in tasks:
            task.cancel()


class Joiner:
    """Registers one server with its gateways.

    Args:
        config: The server's settings.
        front: Describes the server and its load.
        target: HOST:PORT that the server is bound to.
        token: Token to join with; empty to use the file that the settings name, if any.

    Raises:
        OSError: A file named in the settings cannot be read.
    """

    def __init__(self, config: ServerConfig, front: Front, target: str, token: str) -> None:
        self._front = front
        port = target.rpartition(":")[2]
        everywhere = is_unspecified(host_of(target))  # then only the gateway can tell the host
        self._address = config.advertise or (f":{port}" if everywhere else target)
        self._own_port = host_of(local_target(target)), int(port)
        self._tunnelled = config.tunnel
        self._name = config.advertise or f"{socket.gethostname()}:{port}"
        self._labels = dict(label.split("=", 1) for label in config.labels)
        ca, file = config.join_ca, config.join_token
        self._tls = grpc.ssl_channel_credentials(Path(ca).read_bytes()) if ca else None
        self._channel_tls = ssl.create_default_context(cafile=ca) if ca else None
        self._dials_channels = config.direct_port >= 0 and not config.readable_way(
            insecure=config.insecure
        )
        shown = token or (Path(file).read_text(encoding="utf-8").strip() if file else "")
        self._metadata = (("authorization", f"Bearer {shown}"),) if shown else ()
        self._leaving = asyncio.Event()

    def leave(self) -> None:
        """Ends the registrations, which tells the gateways that the server's sessions are over."""
        self._leaving.set()

    async def stay(self, gateway: str) -> None:
        """Keeps the server registered with one gateway until it leaves."""
        attempt = partial(self._register, gateway)
        await self._repeat(attempt, f"not registered with gateway {gateway}")

    async def _repeat(self, attempt: Callable[[], Awaitable[None]], failure: str) -> None:
        """Repeats an attempt until the server leaves, with pauses.

        Args:
            attempt: The attempt; returns or raises when it has ended.
            failure: What to log when it raises.
        """
        pause, logged, clock = _FIRST_PAUSE, "", asyncio.get_running_loop().time
        while not self._leaving.is_set():
            begun = clock()
            try:
                await attempt()
            except _FAILURES as error:
                reason = _reason(error)
                if reason != logged:  # log it once, not at each attempt
                    _log.warning("%s: %s", failure, reason)
                logged = reason
            if clock() - begun > _MAX_PAUSE:  # it worked for a while
                pause, logged = _FIRST_PAUSE, ""
            await self._rest(pause * random.uniform(0.5, 1.0))  # noqa: S311
            pause = min(2 * pause, _MAX_PAUSE)

    async def _rest(self, seconds: float) -> None:
        """Waits for the given time, or until the server leaves."""
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(self._leaving.wait(), seconds)

    async def _register(self, gateway: str) -> None:
        """Registers, then reports load and executes orders until the gateway ends the registration.

        Raises:
            grpc.RpcError: The gateway is unreachable, or refuses.
            asyncio.InvalidStateError: The gateway ended the registration.
            asyncio.TimeoutError: The gateway does not answer.
            OSError: The server needs a tunnel, which the gateway does not support.
        """
        async with self._channel(gateway) as channel:
            call: Any = channel.stream_stream(
                _REGISTER,
                request_serializer=farm_pb2.RegisterRequest.SerializeToString,
                response_deserializer=farm_pb2.RegisterResponse.FromString,
            )(metadata=self._metadata)
            hello = self._hello()
            answer = await asyncio.wait_for(_say_hello(call, hello), _ANSWER_SECONDS)
            if answer is grpc.aio.EOF:
                raise asyncio.InvalidStateError
            if self._tunnelled and not answer.tunnel_key:
                raise OSError("it is too old to know --tunnel; update it")
            _log.info("registered with gateway %s as %s", gateway, self._name)
            self._front.access.tickets.trust(
                gateway, answer.ticket_key, hello.info.incarnation, answer.ticket_clock
            )
            beat = to_seconds(answer.heartbeat)
            writing = asyncio.Lock()
            client = gateway_client(gateway, shown_token=bool(self._metadata))
            admin = AdminOrders(self._front.admin_service, client, answer.ticket_clock)
            channels = self._channels(gateway, call, writing)
            obeying = asyncio.ensure_future(self._obey(call, writing, admin, channels))
            tunnelling = asyncio.ensure_future(self._keep_tunnel(gateway, answer.tunnel_key))
            try:
                await self._report(call, writing, max(beat, _POLL_SECONDS), obeying)
            finally:
                obeying.cancel()
                tunnelling.cancel()
                channels.stop()

    def _channels(self, gateway: str, call: Any, writing: asyncio.Lock) -> ChannelOrders:
        async def answer(report: farm_pb2.RegisterRequest) -> None:
            with contextlib.suppress(grpc.RpcError, asyncio.InvalidStateError):  # it has ended
                async with writing:
                    await call.write(report)

        return ChannelOrders(self._front.direct, host_of(gateway), self._channel_tls, answer)

    async def _keep_tunnel(self, gateway: str, key: bytes) -> None:
        """Keeps the tunnel of a registration open, if it has one."""
        if key:
            attempt = partial(self._tunnel, gateway, key)
            await self._repeat(attempt, f"no tunnel to gateway {gateway}")

    async def _tunnel(self, gateway: str, key: bytes) -> None:
        """Carries one connection from a gateway.

        It uses its own channel, because reports would arrive late behind observations on a slow line.
        """
        async with self._channel(gateway) as channel:
            await carry_connection(channel, self._metadata, key, self._own_port)

    def _channel(self, gateway: str) -> grpc.aio.Channel:
        if self._tls is None:
            return grpc.aio.insecure_channel(gateway, _OPTIONS)
        return grpc.aio.secure_channel(gateway, self._tls, _OPTIONS)

    def _hello(self) -> farm_pb2.ServerHello:
        control = self._front.control_service
        info = control.describe()
        return farm_pb2.ServerHello(
            server_id=self._name,
            address=self._address,
            info=info,
            environments=control.loaded.environments.environments,
            labels=self._labels,
            fingerprint=fingerprint(info.libraries, self._front.packages),
            keeps_slots=True,
            takes_admin_orders=True,
            tunnelled=self._tunnelled,
            pid=os.getpid(),
            dials_channels=self._dials_channels,
        )

    async def _obey(
        self, call: Any, writing: asyncio.Lock, admin: AdminOrders, channels: ChannelOrders
    ) -> None:
        """Executes the gateway's orders until it ends the registration."""
        while (ordered := await call.read()) is not grpc.aio.EOF:
            if ordered.HasField("channel_order"):
                channels.obey(ordered.channel_order)
                continue
            async with writing:  # the gateway relies on the order of answers and reports
                if ordered.HasField("admin_order"):
                    done = await admin.obey(ordered.admin_order)
                    await call.write(farm_pb2.RegisterRequest(admin_answer=done))
                elif answered := self._front.slot_orders.obey(ordered.slot_order):
                    await call.write(farm_pb2.RegisterRequest(slot_answer=answered))

    async def _report(
        self, call: Any, writing: asyncio.Lock, beat: float, obeying: asyncio.Task[None]
    ) -> None:
        """Reports the load when it has changed, and at least every `beat` seconds; totals now and then."""
        reported, age, totals_age = None, 0.0, _TOTALS_SECONDS
        while not self._leaving.is_set():
            if obeying.done():
                obeying.result()
                raise asyncio.InvalidStateError
            async with writing:
                load = self._load()
                if load != reported or age >= beat:
                    with_totals = totals_age >= _TOTALS_SECONDS
                    await call.write(self._full_report(load) if with_totals else _report_of(load))
                    reported, age = load, 0.0
                    totals_age = 0.0 if with_totals else totals_age
            await self._rest(_POLL_SECONDS)
            age, totals_age = age + _POLL_SECONDS, totals_age + _POLL_SECONDS
        await call.write(self._full_report(self._load()))  # what was done since the last totals
        await call.done_writing()
        await obeying

    def _full_report(self, load: farm_pb2.ServerLoad) -> farm_pb2.RegisterRequest:
        report = _report_of(load)
        report.load.totals.CopyFrom(self._front.totals())
        report.load.usage.extend(self._front.usage())
        return report

    def _load(self) -> farm_pb2.ServerLoad:
        info = self._front.control_service.describe()
        return farm_pb2.ServerLoad(
            active_sessions=info.active_sessions,
            draining=info.draining,
            reserved_slots=self._front.slot_orders.reserved,
            client_slots=self._front.slot_orders.by_client,
        )


def _report_of(load: farm_pb2.ServerLoad) -> farm_pb2.RegisterRequest:
    return farm_pb2.RegisterRequest(load=load)


async def _say_hello(call: Any, hello: farm_pb2.ServerHello) -> Any:
    await call.write(farm_pb2.RegisterRequest(hello=hello))
    return await call.read()


#: Errors after which an attempt is repeated.
_FAILURES = (grpc.RpcError, asyncio.TimeoutError, asyncio.InvalidStateError, OSError)


def _reason(error: Exception) -> str:
    """Returns why a gateway refused or could not be reached."""
    if isinstance(error, grpc.aio.AioRpcError):
        return f"{error.code().name}: {error.details()}"
    # gRPC raises it as well, for a write to a call that has ended.
    if isinstance(error, asyncio.InvalidStateError):
        return "it ended the registration"
    if isinstance(error, asyncio.TimeoutError):
        return f"no answer within {_ANSWER_SECONDS:g} s"
    return str(error)
