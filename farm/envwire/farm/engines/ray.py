"""A farm on a Ray cluster: the gateway in this process, and one actor per server, which Ray places and restarts."""

from __future__ import annotations

import asyncio
import itertools
import json
import logging
import os
import select
import threading
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import asynccontextmanager, contextmanager, suppress
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

_log = logging.getLogger("envwire.farm")

#: Ray namespace of the actors, which are named server-0, server-1, ...
NAMESPACE = "envwire"
#: Each actor takes one CPU, is spread over the nodes, and is restarted without limit.
_PLACED: dict[str, Any] = {
    "namespace": NAMESPACE,
    "num_cpus": 1,
    "scheduling_strategy": "SPREAD",
    "max_restarts": -1,
}
#: Seconds that a server has to stop, beyond the drain time of its sessions.
STOP_SECONDS = 10.0
#: Longest wait for the actors' addresses, in seconds: an actor that Ray cannot place never answers.
_ANSWER_SECONDS = 5.0
#: Seconds between two lines about servers that have not started.
_TELL_SECONDS = 10.0
#: How many Makes may wait while a server is being added.
_QUEUE = 4096


def _ray() -> Any:
    """Imports Ray, on first use and untyped.

    Raises:
        OSError: Ray is not installed.
    """
    try:
        return import_module("ray")
    except ModuleNotFoundError:
        raise OSError("Ray is not installed; pip install 'envwire[ray]'") from None


class ServerActor:
    """Actor that runs one server. When Ray restarts the actor on another node, the server moves with it.

    Args:
        settings: The server's settings, as `ServerConfig.to_json` writes them.
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
        """Returns HOST:PORT of the server and the id of its node."""
        ray = _ray()
        return self._server.target, ray.get_runtime_context().get_node_id()

    def ended(self) -> None:
        """Waits until the server is told to stop. The actor dies with its server, and this call with the actor."""
        self._stopping.wait()

    def stop(self) -> None:
        """Stops the server for good; its sessions get the drain time to end."""
        self._stopping.set()
        self._server.stop()


def _end_with(pid: int, stopping: threading.Event) -> None:
    """Ends the actor's process when its server dies, so that Ray restarts both; a stopped server is left alone."""
    select.select([os.pidfd_open(pid)], [], [])
    if not stopping.is_set():
        os._exit(1)


class RayFleet:
    """The servers that Ray runs.

    Args:
        ray: The imported `ray` package.
        config: Settings of each server.
    """

    def __init__(self, ray: Any, config: ServerConfig) -> None:
        self._ray = ray
        self._make: Any = ray.remote(ServerActor)
        self._settings = config.to_json()
        self._patience = config.drain_timeout + STOP_SECONDS
        self._numbers = itertools.count()
        self._actors: list[Any] = []
        self._draining: list[Any] = []

    @property
    def size(self) -> int:
        """The number of servers (see `Fleet.size`)."""
        return len(self._actors)

    async def add(self) -> str:
        """Starts a server on a node with a free CPU; returns its address when it serves.

        Raises:
            Exception: Ray's own error: the server did not start, and Ray gave up.
        """
        options = {"name": f"server-{next(self._numbers)}", **_PLACED}
        actor = self._make.options(**options).remote(self._settings)
        self._actors.append(actor)
        try:
            address, _ = await actor.placed.remote()
        except Exception:  # else it would count as starting, and no other server would be added
            self._actors.remove(actor)
            self._ray.kill(actor)
            raise
        return str(address)

    async def start(self, count: int) -> None:
        """Starts the first servers; says what it waits for while that takes long, as without free CPUs.

        Raises:
            Exception: Ray's own error: a server did not start.
        """
        starts = [asyncio.ensure_future(self.add()) for _ in range(count)]
        started = asyncio.gather(*starts)
        try:
            while not (await asyncio.wait([started], timeout=_TELL_SECONDS))[0]:
                _log.warning("%s", self._waiting(sum(not each.done() for each in starts), count))
            await started
        finally:
            started.cancel()

    def _waiting(self, late: int, count: int) -> str:
        cpus, free = (
            int(told().get("CPU", 0))
            for told in (self._ray.cluster_resources, self._ray.available_resources)
        )
        advice = "; add nodes to it, or ask for fewer servers with -n" if free < late else ""
        return (
            f"waiting for {late} of {count} servers, each of which takes a CPU: the Ray cluster has {cpus}, "
            f"{free} of them free{advice}"
        )

    async def drain(self, address: str) -> None:
        """Stops the server at an address for good (see `Fleet.drain`)."""
        actor = await self._actor_at(address)
        self._actors.remove(actor)
        self._draining.append(actor)
        await self._stop([actor])
        self._draining.remove(actor)

    async def _actor_at(self, address: str) -> Any:
        """Returns the actor of a server, which Ray may have restarted elsewhere since it was added.

        Raises:
            OSError: No actor reports that address.
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
            await fleet.start(count)
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
    """Runs a farm until SIGTERM or SIGINT, on the cluster that RAY_ADDRESS names or on one on this machine.

    Args:
        count: Number of servers; each takes one CPU of the cluster.
        config: Settings of each server.
        at: Settings of the gateway, which must be reachable from all nodes.
        ready: Called with HOST:PORT of the gateway once all servers are registered.
        scale: Bounds of a farm that grows and shrinks; Makes then wait while a server is being added.

    Raises:
        OSError: Ray is not installed, or the gateway's address cannot be bound.
        ValueError: Other machines could reach the ports, and the operator did not allow that.
    """
    raise_file_limit()
    if scale is not None:
        count, at = scale.clamp(count), replace(at, queue=_QUEUE)
    with connected(insecure=at.insecure):
        run_farm(_farm(count, config, at, scale), ready)


@contextmanager
def connected(*, insecure: bool) -> Generator[Any]:
    """Connects this process to the cluster that RAY_ADDRESS names, or to one on this machine; yields the package.

    Args:
        insecure: Whether the operator allowed that other machines reach the ports.

    Raises:
        OSError: Ray is not installed.
        ValueError: The operator did not allow that.
    """
    ray = _ray()
    if not insecure:
        raise ValueError(
            "the ports of a farm on Ray are open to all that reach its nodes; say --insecure when their network is "
            "trusted"
        )
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # no telemetry
    ray.init(namespace=NAMESPACE, include_dashboard=False, log_to_driver=False)
    try:
        yield ray
    finally:
        ray.shutdown()
