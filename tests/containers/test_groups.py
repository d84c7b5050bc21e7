"""Groups of containers that begin with none: 64 Makes at once and none again; PPO through containers that are lost."""

from __future__ import annotations

import base64
import os
import socket
import subprocess
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from envwire.client import RemoteEnv
from tests.containers.engine import IMAGE, SECONDS, docker, missing
from tests.farm.on_demand import OnDemand, on_demand
from tests.farm.scene import free_port
from tests.farm.training import check_training

MAKES, ROUNDS = 64, 10
NAMES = ("one", "two", "three")

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(bool(missing()), reason=missing() or "-"),
    pytest.mark.timeout(1800),
]
pytest.importorskip("docker")

POLES = """
import envwire.envs as gym
for name in ("one", "two", "three"):
    gym.register(id=f"lab/Pole-{name}-v0", entry_point=gym.spec("CartPole-v1").entry_point, max_episode_steps=500)
"""
#: The engine makes a volume for each of its containers.
DOCKERFILE = f"""
FROM {IMAGE}
USER 0
RUN echo {base64.b64encode(POLES.encode()).decode()} | base64 -d >/srv/envwire/poles.py
USER 10001:10001
VOLUME /data
"""
GROUP = """
[groups.{name}]
environments = ["lab/Pole-{name}-v0"]
imports = ["poles"]
image = "{image}"
max = {servers}
max_sessions = {sessions}
sessions_per_process = {sessions}
idle = 1
step_timeout = 5
drain_timeout = 1
"""


@pytest.fixture(scope="module")
def image() -> Iterator[str]:
    """An image of an environment's author, on top of the server's."""
    name = f"envwire-test-poles-{os.getpid()}"
    build = ["docker", "build", "--quiet", "--network", "host", "--tag", name, "-"]
    subprocess.run(build, input=DOCKERFILE.encode(), check=True, timeout=SECONDS * 5)
    yield name
    docker("image", "rm", name)


class Containers:
    """The containers of a farm, and what is left of them.

    Args:
        port: The port of its gateway, which is in its name.
    """

    def __init__(self, port: int) -> None:
        self._labelled = f"label=envwire.farm=envwire-farm-{port}"
        self._volumes = _volumes()
        self._processes: set[str] = set()
        self._addresses: set[str] = set()

    def here(self) -> list[str]:
        return docker("ps", "--all", "--quiet", "--filter", self._labelled).split()

    def remember(self, farm: OnDemand) -> None:
        """Notes the processes and ports that must be gone once the farm is empty."""
        for name in self.here():
            self._processes.update(docker("top", name, "-eo", "pid").split()[1:])
        self._addresses.update(each.address for each in farm.servers())

    def check_gone(self) -> None:
        assert not self.here()
        assert not _volumes() - self._volumes
        assert not [pid for pid in self._processes if Path("/proc", pid).exists()]
        for each in self._addresses:
            host, _, port = each.rpartition(":")
            with pytest.raises(ConnectionRefusedError), socket.create_connection((host, int(port))):
                pass

    def kill(self) -> None:
        docker("kill", *self.here())

    def pause(self) -> None:
        docker("pause", *self.here())


def _volumes() -> set[str]:
    return set(docker("volume", "ls", "--quiet").split())


def test_from_no_container_to_many_and_back_ten_times(image: str, tmp_path: Path) -> None:
    port = free_port()
    group = GROUP.format(name="one", image=image, servers=8, sessions=8)
    (tmp_path / "farm.toml").write_text(group)
    ours = Containers(port)

    def make(_: int) -> tuple[RemoteEnv, float]:
        return RemoteEnv(farm.target, "lab/Pole-one-v0"), time.monotonic() - begun

    with on_demand(tmp_path / "farm.toml", "--on", "docker", port=port) as farm:
        for number in range(ROUNDS):
            begun = time.monotonic()
            with ThreadPoolExecutor(MAKES) as pool:
                made = list(pool.map(make, range(MAKES)))
            ours.remember(farm)
            count = len(ours.here())
            idle = time.monotonic()
            for env, _ in made:
                env.reset(seed=1)
                env.step(1)
                env.close()
            farm.until(farm.is_empty)
            farm.until(lambda: not ours.here())
            took = sorted(taken for _, taken in made)
            print(
                f"round {number}: {count} containers, Makes {took[0]:.1f} to {took[-1]:.1f} s,"
                f" gone after {time.monotonic() - idle:.1f} s, load {os.getloadavg()[0]:.1f}"
            )
            ours.check_gone()


def test_training_through_lost_containers_ends_with_the_same_weights(
    image: str, tmp_path: Path
) -> None:
    port = free_port()
    groups = (GROUP.format(name=name, image=image, servers=2, sessions=4) for name in NAMES)
    (tmp_path / "farm.toml").write_text("".join(groups))
    ours = Containers(port)
    with on_demand(tmp_path / "farm.toml", "--on", "docker", port=port) as farm:
        for name in NAMES:
            assert farm.state(name) == "STOPPED"
            check_training(farm.target, {40: ours.kill, 150: ours.pause}, 2, f"lab/Pole-{name}-v0")
            farm.until(farm.is_empty)
            farm.until(lambda: not ours.here())
            ours.check_gone()
