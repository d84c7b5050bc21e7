"""Real Gymnasium environments, hosted: equal to local ones bit for bit, and passing Gymnasium's own checkers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gymnasium
import pytest
from gymnasium.utils.env_checker import check_env
from gymnasium.utils.env_match import check_environments_match

from envwire.client.gymnasium import RemoteEnv
from envwire.server import Server
from envwire.testing.comparing import identical as same
from envwire.testing.comparing import rollout
from tests.tiers import first

pytestmark = [
    pytest.mark.filterwarnings("default"),
    pytest.mark.usefixtures("transport"),
    pytest.mark.parametrize("transport", first(["direct", "stream"]), indirect=True),
]


def _newest(prefix: str) -> str:
    return max(env_id for env_id in gymnasium.registry if env_id.startswith(prefix))


IDS = (
    "CartPole-v1",
    "Pendulum-v1",
    "FrozenLake-v1",
    "Acrobot-v1",
    "MountainCar-v0",
    "MountainCarContinuous-v0",
    _newest("Taxi-v"),
    "Blackjack-v1",
    _newest("CliffWalking-v"),
)


@pytest.mark.parametrize("env_id", IDS)
def test_rollouts_equal_the_local_ones(server: Server, env_id: str) -> None:
    remote, local = RemoteEnv(server.target, env_id), gymnasium.make(env_id)
    assert remote.action_space == local.action_space
    assert remote.observation_space == local.observation_space
    assert same(rollout(remote, 210, seed=1), rollout(local, 210, seed=1))
    remote.close()


def _direct(target: str, env_id: str, **kwargs: Any) -> Any:
    return RemoteEnv(target, env_id, **kwargs)


def _made(target: str, env_id: str, **kwargs: Any) -> Any:
    return gymnasium.make("envwire/Remote-v0", target=target, env_id=env_id, **kwargs)


@pytest.mark.parametrize("make", [_direct, _made])
def test_a_wrapper_that_reads_the_limit_from_the_spec(
    server: Server, make: Callable[..., Any]
) -> None:
    remote = gymnasium.wrappers.TimeAwareObservation(make(server.target, "CartPole-v1"))
    local = gymnasium.wrappers.TimeAwareObservation(gymnasium.make("CartPole-v1"))
    assert remote.observation_space == local.observation_space
    assert same(rollout(remote, 40, seed=2), rollout(local, 40, seed=2))
    remote.close()


@pytest.mark.parametrize("make", [_direct, _made])
@pytest.mark.parametrize("env_id", ["CartPole-v1", "FrozenLake-v1", "Blackjack-v1"])
def test_gymnasiums_checker_passes(
    server: Server, env_id: str, make: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    env = make(server.target, env_id, render_mode="rgb_array")
    check_env(env.unwrapped)
    env.close()


@pytest.mark.parametrize("env_id", first(IDS, 3))
def test_environments_match(server: Server, env_id: str) -> None:
    local = gymnasium.make(env_id, render_mode="rgb_array")
    remote = RemoteEnv(server.target, env_id, render_mode="rgb_array")
    check_environments_match(local, remote, num_steps=30)
    local.close()
    remote.close()


def test_it_is_a_gymnasium_environment(server: Server) -> None:
    env = RemoteEnv(server.target, "FrozenLake-v1", is_slippery=False, map_name="8x8")
    assert isinstance(env, gymnasium.Env)
    assert isinstance(env.observation_space, gymnasium.spaces.Discrete)
    assert env.observation_space.n == 64
    assert isinstance(env.spec, gymnasium.envs.registration.EnvSpec)
    again = gymnasium.make(env.spec)
    assert again.observation_space.n == 64
    again.close()
    env.close()


def test_arguments_survive_remaking_from_the_specification(server: Server) -> None:
    env = RemoteEnv(
        server.target, "FrozenLake-v1", env_kwargs={"map_name": "8x8"}, max_episode_steps=7
    )
    again = gymnasium.make(env.spec)
    for each in (env, again):
        assert each.observation_space.n == 64
        assert each.spec.max_episode_steps == 7
        each.reset(seed=0)
        steps = [each.step(0)[3] for _ in range(7)]
        assert steps == [False] * 6 + [True]
        each.close()


def test_wrappers_of_gymnasium_on_both_sides(server: Server) -> None:
    def on_server() -> Any:
        stack = [("FlattenObservation", {}), ("TimeAwareObservation", {})]
        return RemoteEnv(server.target, "Acrobot-v1", wrappers=stack)

    def on_client() -> Any:
        env = gymnasium.wrappers.FlattenObservation(RemoteEnv(server.target, "Acrobot-v1"))
        return gymnasium.wrappers.TimeAwareObservation(env)

    here, there = on_client(), on_server()
    assert here.observation_space == there.observation_space
    for seed in range(3):
        assert same(here.reset(seed=seed), there.reset(seed=seed))
    here.close()
    there.close()


@pytest.mark.skipif(
    not hasattr(gymnasium.wrappers, "StickyAction"), reason="Gymnasium has it since 1.0"
)
def test_a_wrapper_that_draws_from_np_random(server: Server) -> None:
    def sticky(env: Any) -> Any:
        return gymnasium.wrappers.StickyAction(env, 0.5)

    remote, local = (
        sticky(RemoteEnv(server.target, "CartPole-v1")),
        sticky(gymnasium.make("CartPole-v1")),
    )
    assert same(rollout(remote, 200, 4), rollout(local, 200, 4))
    remote.close()
