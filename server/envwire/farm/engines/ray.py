"""A farm on a Ray cluster: the gateway in this process, and an actor for each server, which Ray places and restarts."""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import select
import threading
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from importlib import import_module
from typing import Any

from envwire.farm.engines.running import run_farm
from envwire.farm.engines.scaling import Scale, keep_scaled
from envwire.farm.gateway.config import GatewayConfig
from envwire.farm.gateway.gateway import gateway
from envwire.server._front.event_loop import raise_file_limit
from envwire.server.config import ServerConfig
from envwire.server.server import Server

#: Ray's namespace of the actors, which are called server-0, server-1, ...
NAMESPACE = "envwire"
#: An actor takes a processor of Ray's, on a node with few of them, and is restarted for ever.
_PLACED: dict[str, Any] = {
    "namespace": NAMESPACE,
    "num_cpus": 1,
    "scheduling_strategy": "SPREAD",
    "max_restarts": -1,
}
#: Time to stop, beyond the time that sessions have to end.
_STOP_SECONDS = 10.0
#: Longest wait for actors to tell where their servers are; one that Ray has no place for does not.
_ANSWER_SECONDS = 5.0
#: Makes that may wait for a server that is added.
_QUEUE = 4096


def _ray() -> Any:
    """Returns the package, whose types are its own.

    Raises:
        OSError: It is not installed.
    """
    try:
        return import_module("ray")
    except ModuleNotFoundError:
        raise OSError("Ray is not installed; pip install 'envwire[ray]'") from None


class ServerActor:
    """One server, on the node where Ray puts the actor. When the actor is restarted elsewhere, so is the server.

    Args:
        settings: Of the server, as `ServerConfig.to_json` writes them.
    """

    def __init__(self, settings: str) -> None:
        ray = _ray()
        given: dict[str, Any] = json.loads(settings)
        given.update(host=ray.util.get_node_ip_address(), port=0)
        self._server = Server(**given).start()
        self._stopping = threading.Event()
        args = (self._server.pid, self._stopping)
        threading.Thread(target=_end_with, args=args, daemon=True).start()

    def placed(self) -> tuple[str, str]:
        """Returns HOST:PORT of the server, and the id of its node."""
        ray = _ray()
        return self._server.target, ray.get_runtime_context().get_node_id()

    def stop(self) -> None:
        """Stops the server for good; its sessions have the drain time to end."""
        self._stopping.set()
        self._server.stop()


def _end_with(pid: int, stopping: threading.Event) -> None:
    """Ends the actor's process when its server does, so that Ray restarts both; not when the server was stopped."""
    select.select([os.pidfd_open(pid)], [], [])
    if not stopping.is_set():
        os._exit(1)


class RayFleet:
    """The servers that Ray runs.

    Args:
        ray: The package.
        config: Settings of each.
    """

    def __init__(self, ray: Any, config: ServerConfig) -> None:
        self._ray = ray
        self._make: Any = ray.remote(ServerActor)
        self._settings = config.to_json()
        self._patience = config.drain_timeout + _STOP_SECONDS
        self._numbers = itertools.count()
        self._actors: list[Any] = []
        self._draining: list[Any] = []

    @property
    def size(self) -> int:
        """How many there are (see `Fleet.size`)."""
        return len(self._actors)

    async def add(self) -> str:
        """Starts a server where Ray has a processor for it; returns its address when it serves.

        Raises:
            Exception: Ray's: it does not start, and Ray does not try again.
        """
        options = {"name": f"server-{next(self._numbers)}", **_PLACED}
        actor = self._make.options(**options).remote(self._settings)
        self._actors.append(actor)
        try:
            address, _ = await actor.placed.remote()
        except Exception:  # it would count as one that starts, and no other would take its place
            self._actors.remove(actor)
            self._ray.kill(actor)
            raise
        return str(address)

    async def drain(self, address: str) -> None:
        """Stops the server at an address for good (see `Fleet.drain`)."""
        actor = await self._actor_at(address)
        self._actors.remove(actor)
        self._draining.append(actor)
        await self._stop([actor])
        self._draining.remove(actor)

    async def _actor_at(self, address: str) -> Any:
        """Returns the actor of a server; Ray may have restarted it elsewhere since it was added.

        Raises:
            OSError: None says that it has it.
        """
        asked: dict[asyncio.Future[Any], Any] = {
            asyncio.ensure_future(actor.placed.remote()): actor for actor in self._actors
        }
        done, late = await asyncio.wait(asked, timeout=_ANSWER_SECONDS)
        for each in late:
            each.cancel()
        for each in done:
            if not each.exception() and each.result()[0] == address:
                return asked[each]
        raise OSError(f"no actor has the server at {address}")

    async def stop(self) -> None:
        """Stops all servers."""
        await self._stop([*self._actors, *self._draining])

    async def _stop(self, actors: list[Any]) -> None:
        stops: Any = asyncio.gather(
            *(actor.stop.remote() for actor in actors), return_exceptions=True
        )
        with suppress(asyncio.TimeoutError):
            await asyncio.wait_for(stops, self._patience)
        for actor in actors:
            self._ray.kill(actor)


@asynccontextmanager
async def _farm(
    count: int, config: ServerConfig, at: GatewayConfig, scale: Scale | None
) -> AsyncGenerator[str]:
    ray = _ray()
    at = replace(at, host=ray.util.get_node_ip_address())
    async with gateway(at) as running:
        fleet = RayFleet(ray, replace(config, join=(running.target,), insecure=True))
        scaler: asyncio.Future[None] | None = None
        try:
            await asyncio.gather(*(fleet.add() for _ in range(count)))
            await running.registered(count)
            if scale is not None:
                scaler = asyncio.ensure_future(keep_scaled(running, fleet, scale))
            yield running.target
        finally:
            if scaler is not None:
                scaler.cancel()
            await fleet.stop()


def run(
    count: int,
    config: ServerConfig,
    at: GatewayConfig,
    ready: Callable[[str], None],
    scale: Scale | None = None,
) -> None:
    """Runs a farm until SIGTERM or SIGINT, on the cluster that RAY_ADDRESS names, or on one of this machine.

    Args:
        count: How many servers; each takes a processor of Ray's.
        config: Settings of each.
        at: Settings of the gateway, which has to be reached from all nodes.
        ready: Called with HOST:PORT of the gateway once all servers are registered.
        scale: The bounds of a farm that grows and shrinks, where Makes wait for a server that is added.

    Raises:
        OSError: Ray is not installed, or the gateway's address cannot be bound.
        ValueError: Other machines would reach the ports, and the operator did not say that this is all right.
    """
    ray = _ray()
    if not at.insecure:
        raise ValueError(
            "the ports of a farm on Ray are open to all that reach its nodes; say --insecure when their network is "
            "trusted"
        )
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # nothing is sent home
    raise_file_limit()
    if scale is not None:
        count, at = scale.clamp(count), replace(at, queue=_QUEUE)
    ray.init(namespace=NAMESPACE, include_dashboard=False, log_to_driver=False)
    try:
        run_farm(_farm(count, config, at, scale), ready)
    finally:
        ray.shutdown()
