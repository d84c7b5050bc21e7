"""A farm of containers on this machine, run by Docker Compose: a gateway, published on loopback, and servers."""

from __future__ import annotations

import asyncio
import json
import shutil
from asyncio.subprocess import PIPE
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import Any

from envwire.farm.engines.running import run_farm
from envwire.farm.engines.variables import FILES, changed_settings, variables
from envwire.farm.gateway.config import GatewayConfig
from envwire.server.config import SETTINGS, ServerConfig

_PORT = 50050
_HTTP_PORT = 50053
#: Seconds that a container has to stop, beyond the drain time of its sessions.
_STOP_SECONDS = 10
#: Restricts what a container may do; a server's processes run as an unprivileged user anyway.
_HARDENED: dict[str, Any] = {
    "restart": "unless-stopped",
    "read_only": True,
    "tmpfs": ["/tmp"],  # noqa: S108 - inside the container
    "cap_drop": ["ALL"],
    "security_opt": ["no-new-privileges:true"],
}


def compose_file(count: int, config: ServerConfig, at: GatewayConfig, image: str) -> dict[str, Any]:
    """Returns the Compose file of the containers, as a dictionary.

    Args:
        count: Number of servers.
        config: Settings of each server.
        at: Settings of the gateway.
        image: Image with envwire and the environments.

    Raises:
        ValueError: A setting names a file, which the containers cannot see.
    """
    public = ["--host=0.0.0.0", "--insecure"]  # reachable only from containers of the network
    ports = [f"127.0.0.1:{at.port}:{_PORT}"]
    if at.http_port:
        ports.append(f"127.0.0.1:{at.http_port}:{_HTTP_PORT}")
    gateway = {
        "image": image,
        "command": ["farm", "gateway", *public, f"--port={_PORT}"],
        "ports": ports,
    }
    server = {
        "image": image,
        "command": ["serve", *public, "--direct-port=50052", f"--join=gateway:{_PORT}"],
        "environment": _variables(config),
        "stop_grace_period": f"{config.drain_timeout + _STOP_SECONDS:g}s",
        "deploy": {"replicas": count},
    }
    services = {"gateway": {**_HARDENED, **gateway}, "server": {**_HARDENED, **server}}
    return {"services": services}


def _variables(config: ServerConfig) -> dict[str, str]:
    """Returns the settings that differ from their defaults, as environment variables."""
    changed = changed_settings(config)
    for name in changed:
        if name in FILES:
            raise ValueError(
                f"{SETTINGS[name].option} names a file of this machine, which containers do not see; build an image "
                "that has it, or use docker/farm.yaml"
            )
    # Compose would substitute a variable after a dollar sign.
    return {name: value.replace("$", "$$") for name, value in variables(changed).items()}


class _Project:
    """A Compose project, whose Compose file is piped to each command."""

    def __init__(self, name: str, description: dict[str, Any]) -> None:
        self._name = name
        self._description = json.dumps(description).encode()

    async def run(self, *command: str) -> None:
        """Runs a command with this program's output streams.

        Raises:
            OSError: The command failed.
        """
        process = await asyncio.create_subprocess_exec(
            *("docker", "compose", "--project-name", self._name, "--file", "-", *command),
            stdin=PIPE,
            stdout=2,
            start_new_session=True,  # Ctrl-C must reach only the farm's process
        )
        try:
            await process.communicate(self._description)
        except asyncio.CancelledError:
            process.terminate()
            await process.wait()
            raise
        if process.returncode:
            raise OSError(f"docker compose {command[0]} failed; its output above says why")


@asynccontextmanager
async def _farm(project: _Project, target: str) -> AsyncGenerator[str]:
    try:
        await project.run("up", "--detach", "--no-build", "--wait", "--remove-orphans")
        yield target
    finally:
        await project.run("down")


def run(
    count: int,
    config: ServerConfig,
    at: GatewayConfig,
    ready: Callable[[str], None],
    image: str = "envwire-server",
) -> None:
    """Runs a farm until SIGTERM or SIGINT, then removes its containers.

    Args:
        count: Number of servers.
        config: Settings of each server.
        at: Settings of the gateway.
        ready: Called with HOST:PORT of the gateway once all containers are healthy.
        image: Image with envwire and the environments.

    Raises:
        OSError: Compose is missing or fails.
        ValueError: The settings are invalid for containers.
    """
    if shutil.which("docker") is None:
        raise OSError("docker is not installed; --on local runs a farm without it")
    if not at.port:
        raise ValueError("--port is 0; a farm of containers is published at a port that is chosen")
    description = compose_file(count, config, at, image)
    project = _Project(f"envwire-farm-{at.port}", description)
    run_farm(_farm(project, f"127.0.0.1:{at.port}"), ready)
