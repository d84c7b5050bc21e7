"""The Docker engine without an engine: what it says, and what it would ask for."""

from __future__ import annotations

import asyncio
import gc
from importlib import import_module
from typing import Any

import pytest

from envwire.farm.engines.docker_container import container_options
from envwire.farm.engines.docker_engine import DockerEngine
from envwire.farm.gateway.groups.failures import EngineError, Kind
from envwire.farm.gateway.groups.group_config import GroupConfig
from envwire.server.config import ServerConfig

pytest.importorskip("docker.errors")  # a checkout has a folder of the name docker

GROUP = GroupConfig(
    name="pole",
    engine="docker",
    image="lab/pole:3",
    gpu_count=2,
    memory=10**9,
    server=ServerConfig(["CartPole-v1"], http_port=50053, tokens="/etc/envwire/tokens"),
)


@pytest.mark.filterwarnings("ignore::ResourceWarning")  # docker leaves its socket to the collector
def test_no_engine_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", "unix:///nowhere/docker.sock")

    async def scene() -> None:
        with pytest.raises(EngineError, match="no Docker engine answers") as caught:
            await DockerEngine("farm", [GROUP], [], "", asyncio.Event()).observe()
        assert caught.value.failure.kind is Kind.ENGINE

    asyncio.run(scene())
    gc.collect()


def options(join_token: str = "") -> dict[str, Any]:
    types = import_module("docker.types")
    return container_options(types, "farm", GROUP, "farm-pole-1", ["127.0.0.1:50050"], join_token)


def test_gpus_are_reserved_and_nothing_is_privileged() -> None:
    given = options()
    [request] = given["device_requests"]
    assert (request["Count"], request["Capabilities"]) == (2, [["gpu"]])
    assert (given["mem_limit"], given["memswap_limit"]) == (10**9, 10**9)
    assert given["tmpfs"] == {"/tmp": "size=250000000"}
    assert (given["read_only"], given["cap_drop"]) == (True, ["ALL"])
    assert "privileged" not in given


def test_settings_are_variables_and_files_are_mounted() -> None:
    given = options("/home/me/join-token")
    variables = given["environment"]
    assert variables["ENVWIRE_ENVIRONMENTS"] == "CartPole-v1"
    assert variables["ENVWIRE_JOIN"] == "127.0.0.1:50050"
    assert variables["ENVWIRE_LABELS"] == "group=pole instance=farm-pole-1"
    assert variables["ENVWIRE_HTTP_PORT"] == "0"  # all containers share the machine's ports
    mounted = {each["Target"]: (each["Source"], each["ReadOnly"]) for each in given["mounts"]}
    assert mounted == {
        variables["ENVWIRE_JOIN_TOKEN"]: ("/home/me/join-token", True),
        variables["ENVWIRE_TOKENS"]: ("/etc/envwire/tokens", True),
    }
