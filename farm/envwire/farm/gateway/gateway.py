"""Runs a gateway in one event loop, from start to stop."""

from __future__ import annotations

import asyncio
import gc
import secrets
import time
from collections.abc import AsyncGenerator, Callable, Generator, Mapping
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from pathlib import Path
from typing import NamedTuple

import grpc.aio
from grpc_health.v1 import health_pb2

from envwire.farm.gateway.admin_service import AdminService
from envwire.farm.gateway.allocation.allocating import Allocator
from envwire.farm.gateway.allocation.relayed_slots import RelayedSlots
from envwire.farm.gateway.allocation.tickets import TicketSigner
from envwire.farm.gateway.config import GatewayConfig
from envwire.farm.gateway.environment_service import EnvironmentService
from envwire.farm.gateway.farm_service import FarmService
from envwire.farm.gateway.groups.group_calls import GroupCalls
from envwire.farm.gateway.groups.group_config import GroupConfig
from envwire.farm.gateway.groups.groups import Groups
from envwire.farm.gateway.makes.make_queue import MakeQueue
from envwire.farm.gateway.makes.making import Maker
from envwire.farm.gateway.orders.registrations import Registrations
from envwire.farm.gateway.registering import Registering
from envwire.farm.gateway.registry.quotas import Quotas
from envwire.farm.gateway.registry.registry import Registry
from envwire.farm.gateway.registry.states import Member
from envwire.farm.gateway.relaying.channels import ChannelRelay
from envwire.farm.gateway.relaying.links import Link
from envwire.farm.gateway.relaying.routing import Routes
from envwire.farm.gateway.upkeep import Upkeep
from envwire.server._auth.access import Access
from envwire.server._auth.tokens import Token
from envwire.server._front.counters import Tally
from envwire.server._front.event_loop import raise_file_limit, run_loop, stop_on_signals
from envwire.server._front.grpc.edge import GrpcPort, options
from envwire.server._front.grpc.services import Health
from envwire.server._front.http_port import Routes as HttpRoutes
from envwire.server._front.http_port import http_port, operations

_STOP_GRACE_SECONDS = 1.0
#: Thresholds of the garbage collector. With Python's own thresholds, a gateway with 1,000 servers that allocated in
#: batches collected its oldest generation every ten seconds, and stood still for 70 to 115 ms each time.
_COLLECT = (10_000, 50, 100)
_REGISTER_SECONDS = 30.0
_PAUSE_SECONDS = 0.02


class Running(NamedTuple):
    """A running gateway.

    Attributes:
        target: HOST:PORT that it is bound to.
        registry: The servers that it knows.
        queue: The Makes that wait for a slot.
        groups: The groups of servers that start on demand.
    """

    target: str
    registry: Registry
    queue: MakeQueue
    groups: Groups

    async def registered(self, count: int) -> None:
        """Waits until `count` servers are registered.

        Raises:
            OSError: Fewer are registered after 30 s.
        """
        await self._until(count, lambda _: True)

    async def registered_at(self, address: str) -> None:
        """Waits until the server at an address is registered.

        Raises:
            OSError: It is not registered after 30 s.
        """
        await self._until(1, lambda each: each.address == address)

    async def _until(self, count: int, awaited: Callable[[Member], bool]) -> None:
        deadline = time.monotonic() + _REGISTER_SECONDS
        while (there := sum(map(awaited, self.registry))) < count:
            if time.monotonic() > deadline:
                raise OSError(
                    f"{there} of {count} servers registered with the gateway within {_REGISTER_SECONDS:g} s; their "
                    "output above says why"
                )
            await asyncio.sleep(_PAUSE_SECONDS)


@asynccontextmanager
async def gateway(
    config: GatewayConfig,
    clock: Callable[[], float] = time.monotonic,
    known: tuple[Token, ...] = (),
    groups: Mapping[str, GroupConfig] | None = None,
) -> AsyncGenerator[Running]:
    """Runs a gateway in the running event loop.

    Args:
        config: Its settings.
        clock: Monotonic time, in seconds.
        known: Tokens in addition to those of the file.
        groups: The groups of servers that an engine starts on demand, by name.

    Raises:
        ValueError: The certificates or the tokens are invalid.
        OSError: A file cannot be read, or the address cannot be bound.
    """
    access, incarnation = Access(config, clock, known), secrets.token_hex(8)
    _check_server_ca(config)
    registry = Registry(clock(), relays=config.relay)
    routes = Routes(registry, clock, partial(Link, config=config))
    kinds = Groups(groups or {}, registry)
    queue = MakeQueue(registry, clock, config.queue, config.queue_timeout, kinds)
    tally, relayed_slots = Tally(clock), RelayedSlots(clock)
    quotas, registrations = Quotas(registry.members, config.quota), Registrations()
    maker = Maker(registry, queue, tally, quotas, registrations, relayed_slots)
    signer = TicketSigner(clock)
    allocator = Allocator(registry, registrations, clock, config.queue, config.queue_timeout, kinds)
    health = Health(access, lambda: registry.is_served or bool(kinds))
    channels = ChannelRelay(config, routes, registrations)
    service = EnvironmentService(
        access,
        registry,
        routes,
        channels,
        maker,
        quotas,
        incarnation,
        clock,
        config.max_make_bytes,
        kinds,
    )
    registering = Registering(config, access, registry, registrations, signer, incarnation, clock)
    farm = FarmService(
        access,
        registering,
        registry,
        allocator,
        relayed_slots,
        quotas,
        signer,
        clock,
        queue,
        GroupCalls(kinds, clock),
    )
    admin = AdminService(access, registry, registrations)
    services = service, farm, admin, health
    server = grpc.aio.server(options=options(config))
    server.add_generic_rpc_handlers(tuple(each.handlers() for each in services))
    port = GrpcPort(server, config, access)
    http_routes = partial(_http_routes, access, registry, tally, allocator, queue, clock, kinds)
    upkeep = Upkeep(registry, routes, clock, health.refresh)
    try:
        channels.start()  # first: a client whose gateway is back asks here before it falls back to gRPC
        target = await port.start()
        await health.set(health_pb2.HealthCheckResponse.SERVING)
        async with http_port(config, config.http_port, http_routes):
            with _rare_collections():
                yield Running(target, registry, queue, kinds)
    finally:
        await upkeep.stop()
        channels.stop()
        await port.stop(_STOP_GRACE_SECONDS)
        await routes.close()


def _check_server_ca(config: GatewayConfig) -> None:
    """Reports a missing file at the start; it is read again for each server, in case it has changed."""
    if config.server_ca:
        Path(config.server_ca).read_bytes()


@contextmanager
def _rare_collections() -> Generator[None]:
    """Sets the thresholds of the garbage collector."""
    before = gc.get_threshold()
    gc.set_threshold(*_COLLECT)
    try:
        yield
    finally:
        gc.set_threshold(*before)


def _http_routes(
    access: Access,
    registry: Registry,
    tally: Tally,
    allocator: Allocator,
    queue: MakeQueue,
    clock: Callable[[], float],
    groups: Groups,
) -> HttpRoutes:
    from envwire.farm.gateway.metrics import GatewayMetrics

    metrics = GatewayMetrics(registry, tally, allocator, queue, clock, groups)
    return operations(access, lambda: True, metrics)


def run(config: GatewayConfig, ready: Callable[[str], None]) -> None:
    """Runs a gateway in this process until SIGTERM or SIGINT.

    Args:
        config: Its settings.
        ready: Called with HOST:PORT once requests are served.
    """

    async def main() -> None:
        stop = stop_on_signals()
        async with gateway(config) as running:
            ready(running.target)
            await stop.wait()

    raise_file_limit()
    run_loop(main())
