"""A remote multi-agent environment gives the same results as the local one from the same seed, bit for bit."""

from __future__ import annotations

from itertools import zip_longest
from typing import Any

import pettingzoo
import pytest

from envwire.testing.comparing import identical
from tests.pettingzoo.conftest import Remote

PARALLEL = {
    "butterfly/pistonball-v6": {"n_pistons": 5},
    "butterfly/cooperative_pong-v6": {"render_mode": "rgb_array"},
    "butterfly/knights_archers_zombies-v11": {},
    "classic/rps-v2": {},
    "sisl/multiwalker-v9": {},
    "sisl/pursuit-v5": {},
    "tests/countdown-v0": {"agents": 5},
}
# Not hanabi: it draws from one generator of the process, so that two local ones already differ.
AEC = {
    "butterfly/pistonball-v6": {"n_pistons": 3},
    "classic/chess-v6": {},
    "classic/connect_four-v3": {},
    "classic/leduc_holdem-v4": {},
    "classic/texas_holdem_no_limit-v6": {},
    "classic/tictactoe-v3": {},
    "sisl/pursuit-v5": {},
    "tests/countdown-v0": {},
}
STEPS = 40
#: The last without a seed, where an environment goes on from its own generator.
EPISODES = 3

SEEDED = pytest.mark.parametrize("seed", [7, 123456])
pytestmark = pytest.mark.filterwarnings(
    "ignore"
)  # they are PettingZoo's, and the same on both sides


def _local(kind: Any, env_id: str, **kwargs: Any) -> Any:
    try:
        return pettingzoo.make(kind, env_id, **kwargs)
    except ImportError as error:  # an extra of PettingZoo
        pytest.skip(str(error))


def _seed_spaces(env: Any, seed: int) -> None:
    for number, agent in enumerate(env.possible_agents):
        env.action_space(agent).seed(seed + number)


def _action(env: Any, agent: Any, observation: Any, info: Any) -> Any:
    masked = observation if isinstance(observation, dict) else info
    return env.action_space(agent).sample(masked.get("action_mask"))


def _state(env: Any) -> Any:
    try:
        return env.state()
    except (NotImplementedError, AttributeError, TypeError) as error:
        return type(error).__name__


def _parallel_rollout(env: Any, seed: int) -> Any:
    _seed_spaces(env, seed)
    yield env.possible_agents, env.metadata, env.render_mode, str(env)
    for episode in range(EPISODES):
        seen = env.reset(seed=seed + episode) if episode < 2 else env.reset()
        yield seen, env.agents, _state(env)
        for _ in range(STEPS):
            if not env.agents:
                break
            actions = {a: _action(env, a, seen[0].get(a), {}) for a in env.agents}
            seen = env.step(actions)
            yield [dict(part) for part in seen], list(env.agents), _state(env)


def _aec_rollout(env: Any, seed: int) -> Any:
    _seed_spaces(env, seed)
    yield env.possible_agents, env.metadata, env.render_mode, str(env.unwrapped)
    for episode in range(EPISODES):
        env.reset(seed=seed + episode) if episode < 2 else env.reset()
        for agent in env.agent_iter(STEPS):
            last = observation, _, terminated, truncated, info = env.last()
            yield agent, last, list(env.agents), dict(env.rewards), _state(env)
            yield [env.observe(other) for other in env.agents], dict(env.infos), env.num_agents
            over = terminated or truncated
            env.step(None if over else _action(env, agent, observation, info))


ROLLOUTS = {"parallel": _parallel_rollout, "aec": _aec_rollout}


def _check_rollouts(kind: str, env_id: str, kwargs: Any, seed: int, remote: Remote) -> None:
    local, proxy = _local(kind, env_id, **kwargs), remote(kind, env_id, **kwargs)
    pairs = zip_longest(*(ROLLOUTS[kind](env, seed) for env in (local, proxy)))
    number = 0
    for number, (expected, found) in enumerate(pairs):
        assert identical(expected, found), f"answer {number} differs: {expected} {found}"
    assert number > 5
    local.close()


@SEEDED
@pytest.mark.parametrize("env_id", PARALLEL)
def test_parallel_rollouts_are_equal(env_id: str, seed: int, remote: Remote) -> None:
    _check_rollouts("parallel", env_id, PARALLEL[env_id], seed, remote)


@SEEDED
@pytest.mark.parametrize("env_id", AEC)
def test_aec_rollouts_are_equal(env_id: str, seed: int, remote: Remote) -> None:
    _check_rollouts("aec", env_id, AEC[env_id], seed, remote)


@pytest.mark.parametrize(
    ("kind", "env_id"), [("parallel", "butterfly/pistonball-v6"), ("aec", "classic/tictactoe-v3")]
)
def test_frames_are_equal(kind: str, env_id: str, remote: Remote) -> None:
    envs = [make(kind, env_id, render_mode="rgb_array") for make in (_local, remote)]
    for env in envs:
        env.reset(seed=1)
    frames = [env.render() for env in envs]
    assert frames[0].any()
    assert identical(*frames)
    envs[0].close()
