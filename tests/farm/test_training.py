"""PPO over a farm whose servers and gateway are lost in turn ends with the weights of an undisturbed run."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Callable, Iterator
from typing import Any

import gymnasium
import pytest
from gymnasium.wrappers.vector import TransformReward

from envwire.client.gymnasium import RemoteVectorEnv
from envwire.server import Server
from envwire.testing.equality import identical
from tests.farm.learner import Learner, Weights
from tests.farm.scene import ENV, Gateway, kill, server
from tests.faults.scene import family_of

ENVS, SESSIONS, SERVERS = 8, 4, 4
UPDATES, STEPS = 12, 32


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
EVENTS: dict[int, Callable[[TrainedFarm], None]] = {
    40: TrainedFarm.kill_server,
    70: TrainedFarm.restart_server,
    100: TrainedFarm.stop_server,
    130: TrainedFarm.continue_server,
    160: TrainedFarm.kill_gateway,
    190: TrainedFarm.restart_gateway,
    200: TrainedFarm.kill_server,
    230: TrainedFarm.restart_server,
    260: TrainedFarm.stop_server,
    290: TrainedFarm.continue_server,
    320: TrainedFarm.kill_server,
    350: TrainedFarm.restart_server,
}


class Disturbed(gymnasium.vector.VectorWrapper):
    """Disturbs a farm before some steps, and measures how long those and the next ones take."""

    def __init__(self, env: Any, farm: TrainedFarm) -> None:
        super().__init__(env)
        self._farm = farm
        self._number = 0
        self._last = "undisturbed"
        self.pauses: dict[str, float] = {}

    def step(self, actions: Any) -> Any:
        event = EVENTS.get(self._number)
        if event is not None:
            event(self._farm)
            self._last = f"{event.__name__} before step {self._number}"
        self._number += 1
        begun = time.perf_counter()
        answer = self.env.step(actions)
        taken = time.perf_counter() - begun
        self.pauses[self._last] = max(self.pauses.get(self._last, 0.0), taken)
        return answer


def train(envs: Any) -> tuple[Weights, list[float]]:
    """Trains on environments; returns the weights, and in how much of each rollout's steps an episode ended."""
    learner = Learner(4, 2, seed=5)
    observations, _ = envs.reset(seed=9)
    ended: list[float] = []
    for _ in range(UPDATES):
        rollout, observations = learner.collect(envs, observations, STEPS)
        learner.learn(rollout, observations)
        ended.append(float(rollout.ends.mean()))
    return learner.weights, ended


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
    undisturbed, _ = train(gymnasium.make_vec(ENV, num_envs=ENVS, vectorization_mode="sync"))
    remote = RemoteVectorEnv(
        trained.gateway.target, ENV, num_envs=ENVS, sessions=SESSIONS, on_lost="replay"
    )
    envs = Disturbed(remote, trained)
    weights, _ = train(envs)
    stats = remote.connection_stats
    remote.close()
    for event, seconds in envs.pauses.items():
        print(f"longest step after {event}: {seconds:.2f} s")
    assert identical(weights, undisturbed)
    assert stats.lost == stats.recovered >= 5
