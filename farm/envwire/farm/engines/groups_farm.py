"""A farm of groups: a gateway in this process, and servers that engines start when a Make needs them."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Callable, Mapping
from dataclasses import replace
from typing import Any

from envwire.farm.engines.docker_engine import DockerEngine
from envwire.farm.engines.engine import Engine
from envwire.farm.engines.join_token import JoinToken, kept_join_token, new_join_token
from envwire.farm.engines.keeping import Keeper
from envwire.farm.engines.kubernetes_api import KubernetesApi
from envwire.farm.engines.kubernetes_engine import KubernetesEngine
from envwire.farm.engines.local_engine import LocalEngine
from envwire.farm.engines.ray import connected
from envwire.farm.engines.ray_engine import RayEngine
from envwire.farm.engines.running import run_farm
from envwire.farm.gateway.config import GatewayConfig
from envwire.farm.gateway.gateway import gateway
from envwire.farm.gateway.groups.group_config import GroupConfig
from envwire.server._auth.tokens import read_tokens
from envwire.server._front.event_loop import raise_file_limit
from envwire.server._settings.listening import local_target


@contextlib.asynccontextmanager
async def _farm(
    groups: Mapping[str, GroupConfig], at: GatewayConfig, ray: Any
) -> AsyncGenerator[str]:
    name = f"envwire-farm-{at.port}"
    of_docker, of_kubernetes = (
        [each for each in groups.values() if each.engine == engine]
        for engine in ("docker", "kubernetes")
    )
    changed, token = asyncio.Event(), JoinToken()
    if at.tokens:
        token = kept_join_token(name) if of_docker else new_join_token()
    async with gateway(at, known=read_tokens(token.line), groups=groups) as running:
        gateways = [local_target(running.target)]
        engines: dict[str, Engine] = {"local": LocalEngine(gateways, token.token, changed)}
        if of_docker:
            engines["docker"] = DockerEngine(name, of_docker, gateways, token.path, changed)
        if of_kubernetes:
            engines["kubernetes"] = KubernetesEngine(name, of_kubernetes, changed, KubernetesApi())
        if ray is not None:
            engines["ray"] = RayEngine(ray, gateways, changed)
        keeping = asyncio.ensure_future(Keeper(running.groups, engines, changed).keep())
        try:
            yield running.target
        finally:
            keeping.cancel()
            await asyncio.wait({keeping})
            await asyncio.gather(*(each.stop() for each in engines.values()))


def run(groups: Mapping[str, GroupConfig], at: GatewayConfig, ready: Callable[[str], None]) -> None:
    """Runs a farm until SIGTERM or SIGINT. It serves at once: Makes wait for the servers of their groups.

    Args:
        groups: The groups, by name.
        at: Settings of the gateway.
        ready: Called with HOST:PORT of the gateway.

    Raises:
        OSError: The gateway's address cannot be bound.
        ValueError: The settings are invalid or contradict each other.
    """
    engines = {each.engine for each in groups.values()}
    if not at.port and engines & {"docker", "kubernetes"}:
        raise ValueError(
            "--port is 0; choose one, by which a farm that is started again finds its containers"
        )
    raise_file_limit()
    with contextlib.ExitStack() as stack:
        ray: Any = None
        if "ray" in engines:
            ray = stack.enter_context(connected(insecure=at.insecure))
            at = replace(at, host=ray.util.get_node_ip_address())
        run_farm(_farm(groups, at, ray), ready)
