"""The Docker engine without an engine: what it says, and what it would ask for."""

from __future__ import annotations

import asyncio
import gc

import pytest

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


def engine(join_token: str = "") -> DockerEngine:
    return DockerEngine("farm", [GROUP], ["127.0.0.1:50050"], join_token, asyncio.Event())


@pytest.mark.filterwarnings("ignore::ResourceWarning")  # docker leaves its socket to the collector
def test_no_engine_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", "unix:///nowhere/docker.sock")

    async def scene() -> None:
        with pytest.raises(EngineError, match="no Docker engine answers") as caught:
            await engine().observe()
        assert caught.value.failure.kind is Kind.ENGINE

    asyncio.run(scene())
    gc.collect()


def test_gpus_are_reserved_and_nothing_is_privileged() -> None:
    async def scene() -> None:
        options = engine()._options(GROUP, "farm-pole-1")
        [request] = options["device_requests"]
        assert (request["Count"], request["Capabilities"]) == (2, [["gpu"]])
        assert (options["mem_limit"], options["memswap_limit"]) == (10**9, 10**9)
        assert options["tmpfs"] == {"/tmp": "size=250000000"}
        assert (options["read_only"], options["cap_drop"]) == (True, ["ALL"])
        assert "privileged" not in options

    asyncio.run(scene())


def test_settings_are_variables_and_files_are_mounted() -> None:
    async def scene() -> None:
        options = engine("/home/me/join-token")._options(GROUP, "farm-pole-1")
        given = options["environment"]
        assert given["ENVWIRE_ENVIRONMENTS"] == "CartPole-v1"
        assert given["ENVWIRE_JOIN"] == "127.0.0.1:50050"
        assert given["ENVWIRE_LABELS"] == "group=pole instance=farm-pole-1"
        assert given["ENVWIRE_HTTP_PORT"] == "0"  # all containers share the machine's ports
        mounted = {each["Target"]: (each["Source"], each["ReadOnly"]) for each in options["mounts"]}
        assert mounted == {
            given["ENVWIRE_JOIN_TOKEN"]: ("/home/me/join-token", True),
            given["ENVWIRE_TOKENS"]: ("/etc/envwire/tokens", True),
        }

    asyncio.run(scene())
