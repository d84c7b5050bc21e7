"""A farm on a Ray cluster of this machine, whose nodes are removed as if machines failed."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from envwire.client import Credentials
from envwire.client._transports.grpc.grpc_connection import open_channel
from envwire.farm.v1 import farm_pb2, farm_pb2_grpc
from tests.containers.engine import wait_until
from tests.farm.scene import ENV

ray = pytest.importorskip("ray")
cluster_utils = pytest.importorskip("ray.cluster_utils")
NODES = 3
_BYTES = 80 * 1024 * 1024
#: A lost node is found out in two seconds, instead of 15.
_HEALTH = {
    "health_check_initial_delay_ms": 500,
    "health_check_period_ms": 500,
    "health_check_timeout_ms": 1000,
    "health_check_failure_threshold": 3,
}

MARKS = [
    pytest.mark.timeout(500),
    # Ray leaves files and sockets open.
    pytest.mark.filterwarnings(
        "ignore::ResourceWarning", "ignore::DeprecationWarning", "ignore::FutureWarning"
    ),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


class Cluster:
    """A head without processors, and nodes on which servers can be; the farm's command is a program of its own."""

    def __init__(
        self, cluster: Any, monkeypatch: pytest.MonkeyPatch, options: tuple[str, ...]
    ) -> None:
        self._cluster = cluster
        self._nodes = [
            cluster.add_node(num_cpus=2, object_store_memory=_BYTES) for _ in range(NODES)
        ]
        monkeypatch.setenv("RAY_ADDRESS", cluster.address)
        command = ("-m", "envwire", "farm", "up", "--on", "ray", "--insecure", "--port", "0")
        self._farm = subprocess.Popen(
            [sys.executable, *command, *options, ENV], stdout=subprocess.PIPE, text=True
        )
        assert self._farm.stdout is not None
        line = self._farm.stdout.readline()
        assert line.startswith("ready: "), line
        self.target = line.removeprefix("ready: ").strip()
        ray.init(cluster.address, namespace="envwire", log_to_driver=False)

    def usable(self) -> list[farm_pb2.ServerStatus]:
        """Returns the servers that live and do not drain."""
        with open_channel(self.target, Credentials()) as channel:
            farm = farm_pb2_grpc.FarmServiceStub(channel)
            servers = farm.ListServers(farm_pb2.ListServersRequest(), timeout=10).servers
        return [each for each in servers if each.state in {each.STATE_FREE, each.STATE_BUSY}]

    def remove_node(self) -> None:
        """Removes the node that has the busiest server, all of a sudden; returns when that server has ended."""
        busiest = max(self.usable(), key=lambda each: each.active_sessions)
        actors = [ray.get_actor(f"server-{number}") for number in range(NODES)]
        placed = dict(ray.get([actor.placed.remote() for actor in actors], timeout=60))
        (lost,) = (each for each in self._nodes if each.node_id == placed[busiest.address])
        self._nodes.remove(lost)
        self._cluster.remove_node(lost, allow_graceful=False)
        # What Ray started on the node ends a moment after it.
        wait_until(lambda: busiest.address not in {each.address for each in self.usable()})

    def stop(self) -> None:
        ray.shutdown()
        self._farm.terminate()
        assert self._farm.wait(60) == 0


@contextmanager
def cluster(monkeypatch: pytest.MonkeyPatch, *options: str) -> Iterator[Cluster]:
    """Runs a cluster and a farm on it, until the end of the block.

    Args:
        monkeypatch: Sets variables of the environment.
        options: Of `envwire farm up`.
    """
    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    made = cluster_utils.Cluster(
        initialize_head=True,
        head_node_args={
            "num_cpus": 0,
            "include_dashboard": False,
            "object_store_memory": _BYTES,
            "_system_config": _HEALTH,
        },
    )
    try:
        farm = Cluster(made, monkeypatch, options)
        yield farm
        farm.stop()
    finally:
        made.shutdown()


@contextmanager
def small_cluster() -> Iterator[str]:
    """Runs a cluster of one node with four processors, until the end of the block; yields its address."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        head = {"num_cpus": 4, "include_dashboard": False, "object_store_memory": _BYTES}
        made = cluster_utils.Cluster(initialize_head=True, head_node_args=head)
        try:
            yield str(made.address)
        finally:
            made.shutdown()
