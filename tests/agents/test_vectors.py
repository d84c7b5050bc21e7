"""For stable-baselines3, `RemoteVecEnv` behaves like a `DummyVecEnv` of local environments.

`make test-agents` installs what this needs; elsewhere it is skipped.
"""

from __future__ import annotations

import os
import shlex
import signal
import sys
from typing import Any

import gymnasium
import numpy as np
import pytest

from envwire.server import Server
from envwire.testing.comparing import identical
from tests.faults.scene import sessions_of
from tests.languages.programs import LANGUAGES, program
from tests.programs.test_exec import SIMULATOR
from tests.vector.conftest import guard, servers, vector_server  # noqa: F401  # pyright: ignore[reportUnusedImport]

torch: Any = pytest.importorskip("torch", reason="make test-agents installs it")
sb3: Any = pytest.importorskip("stable_baselines3", reason="make test-agents installs it")

from envwire.client.stable_baselines3 import RemoteVecEnv  # noqa: E402 - needs what may be missing

pytestmark = [pytest.mark.filterwarnings("default"), pytest.mark.timeout(170)]

COUNT = 4


def _local(env_id: str, **kwargs: Any) -> Any:
    from stable_baselines3.common.vec_env import DummyVecEnv

    return DummyVecEnv([lambda: gymnasium.make(env_id, **kwargs)] * COUNT)


@pytest.mark.parametrize("env_id", ["CartPole-v1", "FrozenLake-v1", "Pendulum-v1"])
def test_rollouts(server: Server, env_id: str) -> None:
    local = _local(env_id)
    remote: Any = RemoteVecEnv(server.target, env_id, COUNT, sessions=2)
    assert remote.metadata == local.metadata
    _compare(remote, local)


def test_rollouts_of_a_program() -> None:
    program = f"{sys.executable} {SIMULATOR} --direct"
    with Server(["CartPole-v1"], program=program) as server:
        _compare(
            RemoteVecEnv(server.target, "CartPole-v1", COUNT, sessions=2), _local("CartPole-v1")
        )


@pytest.mark.parametrize("language", LANGUAGES)
def test_ppo_learns_on_a_kits_cart_poles_what_it_learns_on_gymnasiums(language: str) -> None:
    command = shlex.join(program(language, "cartpole"))
    with Server(["CartPole-v1"], program=command) as server:
        _compare(RemoteVecEnv(server.target, "CartPole-v1", COUNT), _local("CartPole-v1"))
        env: Any = RemoteVecEnv(server.target, "CartPole-v1", COUNT)
        assert _equal(_train(env), _train(_local("CartPole-v1")))


def _compare(remote: Any, local: Any) -> None:
    for env in (remote, local):
        env.seed(11)
    assert identical(remote.reset(), local.reset())
    actions = gymnasium.vector.utils.batch_space(local.action_space, COUNT)
    actions.seed(3)
    ended = 0
    for _ in range(210):
        chosen = actions.sample()
        its, ours = remote.step(chosen), local.step(chosen)
        assert identical(its[:3], ours[:3])
        for its_info, our_info in zip(its[3], ours[3], strict=True):
            assert identical(sorted(its_info.items()), sorted(our_info.items()))
        assert identical(remote.reset_infos, local.reset_infos)
        ended += int(ours[2].sum())
    assert ended > 0
    remote.close()
    local.close()


def test_attributes_methods_options_and_frames(vector_server: Server) -> None:  # noqa: F811 - the fixture
    env: Any = RemoteVecEnv(
        vector_server.target,
        "CartPole-v1",
        COUNT,
        sessions=3,
        render_mode="rgb_array",
        wrappers=[("TimeLimit", {"max_episode_steps": 5}), "OrderEnforcing"],
    )
    env.set_options([{"low": 0.01 * own, "high": 0.01 * own} for own in range(COUNT)])
    assert np.allclose(env.reset(), np.arange(COUNT)[:, None] * np.full(4, 0.01))
    env.set_attr("gravity", [1, 2], indices=[3, 1])
    assert env.get_attr("gravity") == [9.8, [1, 2], 9.8, [1, 2]]
    assert env.get_attr("gravity", indices=2) == [9.8]
    env.set_attr("gravity", 9.8)
    assert env.env_method("has_wrapper_attr", "gravity", indices=[2, 0]) == [True, True]
    assert env.env_is_wrapped(gymnasium.wrappers.TimeLimit) == [True] * COUNT
    assert env.env_is_wrapped(gymnasium.wrappers.OrderEnforcing, indices=0) == [True]
    assert env.env_is_wrapped(gymnasium.wrappers.ClipReward, indices=0) == [False]
    assert env.render().shape == (800, 1200, 3)
    for _ in range(4):
        env.step(np.zeros(COUNT, np.int64))
    infos = env.step(np.zeros(COUNT, np.int64))[3]
    assert [info["TimeLimit.truncated"] for info in infos] == [True] * COUNT
    env.close()


def _train(env: Any, callback: Any = None) -> dict[str, Any]:
    """Returns the weights that PPO ends with."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    model = sb3.PPO("MlpPolicy", env, seed=7, device="cpu", n_steps=128, n_epochs=4)
    first = {name: value.clone() for name, value in model.policy.state_dict().items()}
    model.learn(2048, callback)
    weights: dict[str, Any] = model.policy.state_dict()
    assert any(not torch.equal(first[name], weights[name]) for name in first)
    env.close()
    torch.set_num_threads(before)
    return weights


def _equal(first: dict[str, Any], second: dict[str, Any]) -> bool:
    return first.keys() == second.keys() and all(
        torch.equal(first[name], second[name]) for name in first
    )


def test_ppo_ends_with_the_same_weights(server: Server) -> None:
    remote = RemoteVecEnv(server.target, "CartPole-v1", COUNT, sessions=2)
    assert _equal(_train(remote), _train(_local("CartPole-v1")))


def test_ppo_does_not_notice_that_sessions_die() -> None:
    with Server(["CartPole-v1"]) as fragile:

        def disturb(variables: dict[str, Any], _: Any) -> bool:
            if variables["self"].num_timesteps in {100, 1000, 1004, 1900}:
                os.kill(sessions_of(fragile)[-1], signal.SIGKILL)
            return True

        env: Any = RemoteVecEnv(fragile.target, "CartPole-v1", COUNT, sessions=2, on_lost="replay")
        assert _equal(_train(env, disturb), _train(_local("CartPole-v1")))
        assert env.connection_stats.recovered == 4
