"""A farm on demand whose servers are containers: none, some and none again; a farm that was killed finds them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from envwire.client import CapacityError, RemoteEnv
from tests.containers.engine import IMAGE, docker, missing
from tests.farm.on_demand import OnDemand, Pole, on_demand
from tests.farm.scene import free_port

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(bool(missing()), reason=missing()),
    pytest.mark.timeout(300),
]
pytest.importorskip("docker")

FILE = f"""
[groups.pole]
environments = ["CartPole-v1"]
image = "{IMAGE}"
max = 2
idle = 1
max_sessions = 2
memory = 1_000_000_000
cpus = 1.5

[groups.nowhere]
environments = ["Pendulum-v1"]
image = "localhost:1/no-such-image:1"

[groups.small]
environments = ["MountainCar-v0"]
image = "{IMAGE}"
memory = 8_000_000
"""


@pytest.fixture
def port() -> Iterator[int]:
    """A free port, of whose farm no container is left in the end."""
    free = free_port()
    yield free
    left = containers(free)
    if left:
        docker("rm", "--force", *left)
    assert not left


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "farm.toml"
    path.write_text(FILE)
    return path


def up(file: Path, port: int) -> Any:
    return on_demand(file, "--on", "docker", port=port)


def containers(port: int) -> list[str]:
    labelled = f"label=envwire.farm=envwire-farm-{port}"
    return docker("ps", "--all", "--quiet", "--filter", labelled).split()


def test_from_no_container_to_one_and_back(file: Path, port: int) -> None:
    with up(file, port) as farm:
        assert not containers(port)
        with Pole(farm.target) as pole:
            pole.reset(seed=1)
            pole.step(0, 1)
            [name] = containers(port)
            [found] = json.loads(docker("inspect", name))
            host = found["HostConfig"]
            assert (host["Memory"], host["NanoCpus"]) == (1_000_000_000, 1_500_000_000)
            assert host["ReadonlyRootfs"]
            assert host["CapDrop"] == ["ALL"]
            assert not host["Privileged"]
            assert found["Config"]["User"] != "0"
        farm.until(lambda: not containers(port))


def test_a_container_that_is_killed_is_replaced(file: Path, port: int) -> None:
    with up(file, port) as farm, Pole(farm.target, on_lost="replay") as pole:
        pole.reset(seed=1)
        docker("kill", *containers(port))
        pole.step(0, 1)
        assert "status 137" in farm.groups()["pole"].last_error


def test_a_farm_that_was_killed_finds_its_containers(file: Path, port: int) -> None:
    with up(file, port) as farm:
        pole = Pole(farm.target)
        pole.reset(seed=1)
        before = containers(port)
        farm.process.kill()
        farm.process.wait()
        pole.step(1)
    with up(file, port) as farm:
        farm.until(lambda: farm.groups()["pole"].servers == 1)
        pole.step(1)
        assert containers(port) == before
        with Pole(farm.target) as second:
            second.reset(seed=2)
        assert containers(port) == before
        pole.close()


def test_containers_of_a_group_that_was_changed_are_replaced(file: Path, port: int) -> None:
    with up(file, port) as farm:
        RemoteEnv(farm.target, "CartPole-v1").close()
        before = containers(port)
        farm.process.kill()
        farm.process.wait()
    file.write_text(FILE.replace("max_sessions = 2", "max_sessions = 3"))
    with up(file, port) as farm:
        with RemoteEnv(farm.target, "CartPole-v1"):
            farm.until(lambda: not {*before} & {*containers(port)})
        assert farm.groups()["pole"].servers == 1


def is_refused(farm: OnDemand, env_id: str, why: str) -> None:
    with pytest.raises(CapacityError, match=why):
        RemoteEnv(farm.target, env_id)


def test_an_image_that_does_not_exist_is_said(file: Path, port: int) -> None:
    with up(file, port) as farm:
        is_refused(farm, "Pendulum-v1", "no-such-image|connection refused")
        assert farm.groups()["nowhere"].last_error


def test_a_container_with_too_little_memory_is_said(file: Path, port: int) -> None:
    with up(file, port) as farm:
        is_refused(farm, "MountainCar-v0", "out of memory|memory")
