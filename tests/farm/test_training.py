"""PPO over a farm that loses its servers and its gateway in turn ends with the weights of an undisturbed run."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Iterator

import gymnasium
import pytest
from gymnasium.wrappers.vector import TransformReward

from envwire.server import Server
from envwire.testing.comparing import identical
from tests.farm.learner import Weights
from tests.farm.scene import ENV, Gateway, kill, server
from tests.farm.training import ENVS, check_training, train
from tests.faults.scene import family_of

SERVERS = 4


def signal_all(server: Server, number: int) -> None:
    """Sends a signal to a server's front and to its session processes."""
    for pid in {server.pid, *family_of(server.pid)}:
        os.kill(pid, number)


class TrainedFarm:
    """A gateway and servers, which are disturbed in the middle of training.

    Each disturbance takes the server with the most sessions.
    """

    def __init__(self, gateway: Gateway, stack: contextlib.ExitStack) -> None:
        self.gateway = gateway
        self._stack = stack
        self.servers = [self._start() for _ in range(SERVERS)]
        gateway.await_servers(*self.servers)

    def _start(self, port: int = 0) -> Server:
        return self._stack.enter_context(server(self.gateway, port=port, step_timeout=5.0))

    def busiest(self) -> Server:
        sessions = {name: each.active_sessions for name, each in self.gateway.servers().items()}
        return max(self.servers, key=lambda each: sessions.get(each.target, 0))

    def kill_server(self) -> None:
        self.lost = self.busiest()
        kill(self.lost)

    def restart_server(self) -> None:
        again = self._start(int(self.lost.target.rpartition(":")[2]))
        self.servers[self.servers.index(self.lost)] = again
        self.gateway.await_servers(again)

    def stop_server(self) -> None:
        self.lost = self.busiest()
        signal_all(self.lost, signal.SIGSTOP)

    def continue_server(self) -> None:
        signal_all(self.lost, signal.SIGCONT)
        self.gateway.await_servers(self.lost)

    def kill_gateway(self) -> None:
        self.gateway.kill()

    def restart_gateway(self) -> None:
        self.gateway.start()
        self.gateway.await_servers(*self.servers)


#: What is done before which step of the training.
EVENTS = {
    40: "kill_server",
    70: "restart_server",
    100: "stop_server",
    130: "continue_server",
    160: "kill_gateway",
    190: "restart_gateway",
    200: "kill_server",
    230: "restart_server",
    260: "stop_server",
    290: "continue_server",
    320: "kill_server",
    350: "restart_server",
}


@pytest.fixture
def trained() -> Iterator[TrainedFarm]:
    gateway = Gateway().start()
    with contextlib.ExitStack() as stack:
        stack.callback(gateway.kill)
        farm = TrainedFarm(gateway, stack)
        yield farm
        for each in farm.servers:
            signal_all(each, signal.SIGCONT)  # one that is stopped does not end


@pytest.mark.long
@pytest.mark.timeout(300)
def test_the_learner_learns_and_one_wrong_reward_shows() -> None:
    def trained(spoil: float) -> tuple[Weights, list[float]]:
        envs = gymnasium.make_vec(ENV, num_envs=ENVS, vectorization_mode="sync")
        return train(TransformReward(envs, lambda rewards: rewards + spoil))

    weights, ended = trained(0.0)
    assert ended[-1] < ended[0] / 2, "episodes did not become longer"
    assert identical(weights, trained(0.0)[0])
    assert not identical(weights, trained(1e-9)[0])


@pytest.mark.long
@pytest.mark.timeout(300)
def test_training_through_losses_ends_with_the_same_weights(trained: TrainedFarm) -> None:
    events = {step: getattr(trained, event) for step, event in EVENTS.items()}
    check_training(trained.gateway.target, events, 5)
