"""Agents of stable-baselines3 end with identical weights on a proxy and on a local environment.

`make test-agents` installs what this needs; elsewhere it is skipped.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Collection, Iterator
from contextlib import closing
from typing import Any

import gymnasium
import pytest

from envwire.client.gymnasium import RemoteEnv, RemoteVectorEnv
from envwire.server import Server
from tests.faults.scene import kill_sessions

torch = pytest.importorskip("torch", reason="make test-agents installs it")
sb3 = pytest.importorskip("stable_baselines3", reason="make test-agents installs it")

pytestmark = [pytest.mark.filterwarnings("default"), pytest.mark.timeout(170)]

#: Algorithm, environment, steps, and settings that make it learn within so few of them.
CASES = [
    pytest.param("PPO", "CartPole-v1", 2048, {"n_steps": 512, "n_epochs": 4}, id="PPO"),
    pytest.param("DQN", "CartPole-v1", 2000, {"learning_starts": 200, "train_freq": 2}, id="DQN"),
    pytest.param(
        "SAC",
        "Pendulum-v1",
        900,
        {"learning_starts": 200, "policy_kwargs": {"net_arch": [32, 32]}},
        id="SAC",
    ),
]


@pytest.fixture(scope="module", autouse=True)
def one_thread() -> Iterator[None]:
    """Networks this small only wait for each other's threads."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def _train(algorithm: str, env: Any, steps: int, settings: dict[str, Any]) -> dict[str, Any]:
    """Trains from a fixed seed and returns every parameter by name."""
    model = getattr(sb3, algorithm)("MlpPolicy", env, seed=7, device="cpu", **settings)
    before = {name: value.clone() for name, value in model.policy.state_dict().items()}
    model.learn(steps)
    after: dict[str, Any] = model.policy.state_dict()
    assert any(not torch.equal(before[name], after[name]) for name in after), "it learned nothing"
    env.close()
    return after


@pytest.mark.parametrize(("algorithm", "env_id", "steps", "settings"), CASES)
def test_training_ends_with_the_same_weights(
    server: Server, algorithm: str, env_id: str, steps: int, settings: dict[str, Any]
) -> None:
    local = _train(algorithm, gymnasium.make(env_id), steps, settings)
    remote = _train(algorithm, RemoteEnv(server.target, env_id), steps, settings)
    assert local.keys() == remote.keys()
    different = [name for name in local if not torch.equal(local[name], remote[name])]
    assert not different


class _Killing(gymnasium.Wrapper):  # type: ignore[type-arg]
    """Disturbs an environment before some of its steps."""

    def __init__(self, env: Any, disturb: Callable[[], None], at: Collection[int]) -> None:
        super().__init__(env)
        self._disturb, self._at, self._steps = disturb, at, 0

    def step(self, action: Any) -> Any:
        self._steps += 1
        if self._steps in self._at:
            self._disturb()
        return self.env.step(action)


def test_training_does_not_notice_that_its_environment_dies() -> None:
    algorithm, env_id, steps, settings = CASES[0].values
    undisturbed = _train(algorithm, gymnasium.make(env_id), steps, settings)
    with Server([env_id]) as first, Server([env_id]) as second:
        env = RemoteEnv([first.target, second.target], env_id, on_lost="replay")

        def kill() -> None:  # each loss is recovered on the other server
            kill_sessions(first)
            kill_sessions(second)

        killing = _Killing(env, kill, (100, 700, 701, 1500))
        last = _Killing(killing, lambda: os.kill(first.pid, signal.SIGKILL), (1900,))
        disturbed = _train(algorithm, last, steps, settings)
        assert env.connection_stats[1:] == (5, 5)
    assert undisturbed.keys() == disturbed.keys()
    assert all(torch.equal(undisturbed[name], disturbed[name]) for name in undisturbed)


def test_the_checker_of_stable_baselines3_passes(server: Server) -> None:
    from stable_baselines3.common.env_checker import check_env

    env = RemoteEnv(server.target, "CartPole-v1", render_mode="rgb_array")
    check_env(env, skip_render_check=False)
    env.close()


def test_vectors_of_stable_baselines3_reach_the_environment(server: Server) -> None:
    from stable_baselines3.common.vec_env import DummyVecEnv

    vector = DummyVecEnv([lambda: RemoteEnv(server.target, "tests/Faulty-v0")])
    vector.reset()
    vector.env_method("set_wrapper_attr", "steps", 41)
    assert vector.step([0])[3][0]["steps"] == 42
    assert vector.get_attr("steps") == [42]
    vector.close()


def test_a_vector_of_gymnasium_is_refused_with_the_class_to_use(server: Server) -> None:
    with (
        closing(RemoteVectorEnv(server.target, "CartPole-v1", num_envs=2)) as envs,
        pytest.raises(ValueError, match=r"takes envwire\.client\.stable_baselines3\.RemoteVecEnv"),
    ):
        sb3.PPO("MlpPolicy", envs)
