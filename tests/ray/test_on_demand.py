"""Groups of servers as actors of Ray: none, some and none again; a server that dies, and one that finds no room."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from envwire.client import CapacityError, RemoteEnv
from tests.farm.on_demand import OnDemand, Pole, on_demand
from tests.ray.cluster import MARKS, small_cluster

pytestmark = MARKS
FILE = """
drain_timeout = 1
sessions_per_process = 64

[groups.pole]
environments = ["CartPole-v1"]
max = 3
idle = 1
max_sessions = 4

[groups.huge]
environments = ["Acrobot-v1"]
cpus = 64
wait = 15

[groups.crashing]
environments = ["MountainCar-v0"]
imports = ["no_such_module"]
wait = 60
"""


@pytest.fixture(scope="module")
def farm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OnDemand]:
    file = tmp_path_factory.mktemp("farm") / "farm.toml"
    file.write_text(FILE)
    with (
        small_cluster() as address,
        on_demand(file, "--on", "ray", "--insecure", RAY_ADDRESS=address) as running,
    ):
        yield running


def is_stopped(farm: OnDemand, name: str = "pole") -> bool:
    group = farm.groups()[name]
    return not group.servers and not group.starting_servers


def test_from_no_actor_to_some_and_back(farm: OnDemand) -> None:
    assert is_stopped(farm)
    with ThreadPoolExecutor(12) as pool:
        envs = list(pool.map(lambda _: RemoteEnv(farm.target, "CartPole-v1"), range(12)))
    assert farm.groups()["pole"].servers == 3
    for env in envs:
        env.close()
    farm.until(lambda: is_stopped(farm))
    assert not farm.groups()["pole"].last_error


def test_a_killed_server_is_replaced_for_its_session(farm: OnDemand) -> None:
    with Pole(farm.target, on_lost="replay") as pole:
        pole.reset(seed=5)
        [pid] = farm.pids()
        os.kill(pid, signal.SIGKILL)
        pole.step(0, 1, 0)
        farm.until(lambda: "ended by itself" in farm.groups()["pole"].last_error)
    farm.until(lambda: is_stopped(farm))


def test_a_server_that_finds_no_room_is_waited_for_and_that_is_said(farm: OnDemand) -> None:
    with pytest.raises(CapacityError, match="each server takes 64 CPUs: the Ray cluster has 4"):
        RemoteEnv(farm.target, "Acrobot-v1")


def test_a_server_that_does_not_start_is_said(farm: OnDemand) -> None:
    with pytest.raises(CapacityError, match="no_such_module"):
        RemoteEnv(farm.target, "MountainCar-v0")
