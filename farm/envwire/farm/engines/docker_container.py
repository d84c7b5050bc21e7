"""A container of the Docker engine: the options with which it runs, and what became of one that does not. No I/O."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from envwire.farm.engines.engine import server_config
from envwire.farm.engines.variables import changed_settings, variables
from envwire.farm.gateway.groups.failures import Failure, Kind
from envwire.farm.gateway.groups.group_config import GroupConfig

#: Labels of containers: the name of the farm, the group, and a digest of its settings.
FARM, GROUP, DIGEST = "envwire.farm", "envwire.group", "envwire.settings"
#: Characters of a container's output in an error.
_SHOWN = 300
#: Where containers find the token with which they join, the file of accepted tokens, and the CA of the gateway.
_JOIN_TOKEN, _TOKENS = "/run/secrets/envwire-join", "/run/secrets/envwire-tokens"
_JOIN_CA = "/run/secrets/envwire-ca"
#: Processes and threads of a container.
_PIDS = 8192
#: Files there are memory of the container that counts for no process: a share of it, so that they do not fill all.
_TMP, _SHARE_OF_TMP = "/tmp", 4  # noqa: S108 - inside the container
_HARDENED: dict[str, Any] = {
    "network_mode": "host",
    "read_only": True,
    "tmpfs": {_TMP: ""},
    "cap_drop": ["ALL"],
    "security_opt": ["no-new-privileges:true"],
    "pids_limit": _PIDS,
    "healthcheck": {"test": ["NONE"]},  # the gateway knows whether it lives
}
#: Settings of servers that containers do not take over: their own are below.
_OWN = ("tokens", "join_token", "join_ca", "http_port", "port")


def digest_of(group: GroupConfig) -> str:
    """Returns a digest of a group's settings, by which containers of changed groups are known."""
    return hashlib.sha256(repr(group).encode()).hexdigest()[:16]


def container_options(
    types: Any,
    farm: str,
    group: GroupConfig,
    name: str,
    gateways: Sequence[str],
    join_token: str,
) -> dict[str, Any]:
    """Returns the options with which the package `docker` runs a server of a group.

    Args:
        types: The package's classes of options.
        farm: Name of the farm.
        group: The group.
        name: Name of the container.
        gateways: HOST:PORT of the gateways that it joins.
        join_token: File with the token to join with; empty for none.
    """
    config = server_config(group, name, gateways)
    settings = {key: value for key, value in changed_settings(config).items() if key not in _OWN}
    settings |= {"http_port": 0, "port": 0}
    mounts: list[Any] = []
    files = {
        "join_token": (join_token, _JOIN_TOKEN),
        "join_ca": (config.join_ca, _JOIN_CA),
        "tokens": (config.tokens, _TOKENS),
    }
    for key, (here, there) in files.items():
        if here:
            settings[key] = there
            source = str(Path(here).absolute())
            mounts.append(types.Mount(there, source, "bind", read_only=True))
    options = {
        "name": name,
        "command": ["serve"],
        "detach": True,
        "labels": {FARM: farm, GROUP: group.name, DIGEST: digest_of(group)},
        "environment": variables(settings),
        "mounts": mounts,
        **_HARDENED,
    }
    if group.cpus:
        options["nano_cpus"] = int(group.cpus * 1e9)
    if group.memory:
        options["mem_limit"] = options["memswap_limit"] = group.memory
        options["tmpfs"] = {_TMP: f"size={group.memory // _SHARE_OF_TMP}"}
    if group.gpu_count:
        request = types.DeviceRequest(count=group.gpu_count, capabilities=[["gpu"]])
        options["device_requests"] = [request]
    return options


def refusal_of(error: Any) -> Failure:
    """Returns the failure of a call that the engine refused."""
    text = str(error.explanation or error)
    kind = Kind.NOT_STARTED
    if error.status_code in (401, 403):
        kind = Kind.PERMISSION
    elif error.status_code == 404 or "manifest" in text or "pull access denied" in text:
        kind = Kind.IMAGE
    return Failure(kind, text)


def end_of(name: str, state: Mapping[str, Any], output: bytes) -> Failure:
    """Returns the failure of a container that ended by itself."""
    if state.get("OOMKilled"):
        return Failure(Kind.MEMORY, f"{name} used all of its memory; raise memory of its group")
    said = " ".join(output.decode(errors="replace").split())[-_SHOWN:]
    why = state.get("Error") or said
    return Failure(Kind.ENDED, f"{name} ended by itself, with status {state['ExitCode']}: {why}")
