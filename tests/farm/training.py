"""PPO over a vector environment on a disturbed farm; measures the pause after each event."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

import gymnasium

from envwire.client.gymnasium import RemoteVectorEnv
from envwire.testing.comparing import identical
from tests.farm.learner import Learner, Weights
from tests.farm.scene import ENV

ENVS, SESSIONS = 8, 4
UPDATES, STEPS = 12, 32


class Disturbed(gymnasium.vector.VectorWrapper):
    """Does something to a farm before some steps, and measures how long those and the next ones take."""

    def __init__(self, env: Any, events: Mapping[int, Callable[[], None]]) -> None:
        super().__init__(env)
        self._events = events
        self._number = 0
        self._last = "undisturbed"
        self.pauses: dict[str, float] = {}

    def step(self, actions: Any) -> Any:
        event = self._events.get(self._number)
        if event is not None:
            event()
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


def train_here() -> Weights:
    """Returns the weights of a training on environments of this process."""
    return train(gymnasium.make_vec(ENV, num_envs=ENVS, vectorization_mode="sync"))[0]


def check_training(
    target: str, events: Mapping[int, Callable[[], None]], least_lost: int, env_id: str = ENV
) -> None:
    """Trains on a disturbed farm, and checks that the weights equal those of an undisturbed training.

    Args:
        target: The farm's address.
        events: What is done before which step.
        least_lost: How many sessions are lost at least.
        env_id: Id under which the farm has the environment.
    """
    remote = RemoteVectorEnv(target, env_id, num_envs=ENVS, sessions=SESSIONS, on_lost="replay")
    envs = Disturbed(remote, events)
    weights, _ = train(envs)
    stats = remote.connection_stats
    remote.close()
    for event, seconds in envs.pauses.items():
        print(f"longest step after {event}: {seconds:.2f} s")
    assert identical(weights, train_here())
    assert stats.lost == stats.recovered >= least_lost
