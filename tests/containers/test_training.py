"""PPO over four containers that are killed, paused and started again in turn, and a gateway that is killed too."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from envwire.client import Credentials
from envwire.client._transports.grpc.grpc_connection import open_channel
from envwire.farm.v1 import farm_pb2, farm_pb2_grpc
from tests.containers.engine import SERVE, Network, docker, missing, network, wait_until
from tests.farm.training import check_training

SERVERS = 4
#: What is done before which step of the training.
EVENTS = {
    40: "kill_server",
    70: "start_server",
    100: "pause_server",
    130: "unpause_server",
    160: "kill_gateway",
    190: "start_gateway",
    200: "kill_server",
    230: "start_server",
    260: "stop_server",
    290: "start_server",
    320: "pause_server",
    350: "unpause_server",
}

pytestmark = [
    pytest.mark.long,
    pytest.mark.timeout(600),
    pytest.mark.skipif(bool(missing()), reason=missing() or "-"),
]


class Farm:
    """A gateway and four servers in containers. Each disturbance takes the server with the most sessions."""

    def __init__(self, network: Network) -> None:
        self._network = network
        self._gateway = network.run("farm", "gateway", "--host", "0.0.0.0", "--insecure")
        self.target = f"{self._gateway}:50050"
        for _ in range(SERVERS):
            network.run(*SERVE, "--drain-timeout", "5", "--join", self.target)
        network.await_healthy()
        self._await_servers()

    def _servers(self) -> list[farm_pb2.ServerStatus]:
        request = farm_pb2.ListServersRequest()
        # A channel that outlived its gateway waits long before it connects again.
        with open_channel(self.target, Credentials()) as channel:
            farm = farm_pb2_grpc.FarmServiceStub(channel)
            answer = farm.ListServers(request, timeout=10, wait_for_ready=True)
        return [each for each in answer.servers if each.state == each.STATE_FREE]

    def _await_servers(self) -> None:
        wait_until(lambda: len(self._servers()) == SERVERS)

    def _take(self) -> str:
        """Returns the container of the busiest server."""
        busiest = max(self._servers(), key=lambda each: each.active_sessions)
        self._taken = self._network.container(busiest.address.rpartition(":")[0])
        return self._taken

    def kill_server(self) -> None:
        docker("kill", self._take())

    def stop_server(self) -> None:
        docker("stop", "--time", "20", self._take())

    def start_server(self) -> None:
        docker("start", self._taken)
        self._await_servers()

    def pause_server(self) -> None:
        docker("pause", self._take())

    def unpause_server(self) -> None:
        docker("unpause", self._taken)
        self._await_servers()

    def kill_gateway(self) -> None:
        docker("kill", self._network.container(self._gateway))

    def start_gateway(self) -> None:
        docker("start", self._network.container(self._gateway))
        self._await_servers()


@pytest.fixture
def farm() -> Iterator[Farm]:
    with network() as ours:
        yield Farm(ours)


def test_training_through_losses_ends_with_the_same_weights(farm: Farm) -> None:
    check_training(farm.target, {step: getattr(farm, event) for step, event in EVENTS.items()}, 4)
