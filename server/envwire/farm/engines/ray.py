"""A farm on a Ray cluster: the gateway in this process, and an actor for each server, which Ray places and restarts."""

from __future__ import annotations

import asyncio
import json
import os
import select
import threading
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from importlib import import_module
from typing import Any

from envwire.farm.engines.running import run_farm
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
        threading.Thread(target=_end_with, args=(self._server.pid,), daemon=True).start()

    def placed(self) -> tuple[str, str]:
        """Returns HOST:PORT of the server, and the id of its node."""
        ray = _ray()
        return self._server.target, ray.get_runtime_context().get_node_id()

    def stop(self) -> None:
        """Stops the server; its sessions have the drain time to end."""
        self._server.stop()


def _end_with(pid: int) -> None:
    """Ends the actor's process when its server does, so that Ray restarts both."""
    select.select([os.pidfd_open(pid)], [], [])
    os._exit(1)


@asynccontextmanager
async def _farm(count: int, config: ServerConfig, at: GatewayConfig) -> AsyncGenerator[str]:
    ray = _ray()
    at = replace(at, host=ray.util.get_node_ip_address())
    async with gateway(at) as running:
        settings = replace(config, join=(running.target,), insecure=True).to_json()
        make: Any = ray.remote(ServerActor)
        actors: list[Any] = [
            make.options(name=f"server-{number}", **_PLACED).remote(settings)
            for number in range(count)
        ]
        try:
            await asyncio.gather(*(actor.placed.remote() for actor in actors))
            await running.registered(count)
            yield running.target
        finally:
            stops: Any = asyncio.gather(
                *(actor.stop.remote() for actor in actors), return_exceptions=True
            )
            await asyncio.wait_for(stops, config.drain_timeout + _STOP_SECONDS)
            for actor in actors:
                ray.kill(actor)


def run(count: int, config: ServerConfig, at: GatewayConfig, ready: Callable[[str], None]) -> None:
    """Runs a farm until SIGTERM or SIGINT, on the cluster that RAY_ADDRESS names, or on one of this machine.

    Args:
        count: How many servers; each takes a processor of Ray's.
        config: Settings of each.
        at: Settings of the gateway, which has to be reached from all nodes.
        ready: Called with HOST:PORT of the gateway once all servers are registered.

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
    ray.init(namespace=NAMESPACE, include_dashboard=False, log_to_driver=False)
    try:
        run_farm(_farm(count, config, at), ready)
    finally:
        ray.shutdown()
