"""Replay of a vector environment costs an episode of each member: one seed is enough for a training of any length."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from envwire.client import ReplayError
from envwire.server import Server
from envwire.testing.comparing import identical
from tests.tiers import cross
from tests.vector.conftest import HOSTED, SETTINGS
from tests.vector.faces import FAMILIES, Family
from tests.vector.test_replay import kill_some

SIZE, STEPS, LIMIT = 8, 540, 400
#: Late, again at the next step, and again when hardly anything is known of the new sessions.
KILLS = (450, 451, 480)


@pytest.fixture(scope="module")
def fragile() -> Iterator[Server]:
    """A server that no other test uses."""
    with Server(HOSTED, **SETTINGS) as running:
        yield running


def train(env: Any, server: Server | None = None) -> list[Any]:
    """Returns the trajectory of a small agent that learns from each step and seeds once; it loses sessions."""
    random = np.random.default_rng(3)
    weights = np.zeros(4)
    masked = env.metadata["autoreset_mode"].name == "DISABLED"
    observations, infos = env.reset(seed=7)
    seen: list[Any] = [(observations, infos)]
    for step in range(STEPS):
        if server is not None and step in KILLS:
            kill_some(server)
        explore = random.random(SIZE) < 0.3
        actions = np.where(explore, random.integers(2, size=SIZE), observations @ weights > 0)
        following, rewards, terminations, truncations, infos = env.step(actions)
        gained = (rewards - 10 * terminations) * (2 * actions - 1)
        weights += 1e-3 * gained @ observations
        seen.append((following, rewards, terminations, truncations, infos, weights.copy()))
        observations, ended = following, terminations | truncations
        if masked and ended.any():
            observations, infos = env.reset(options={"reset_mask": ended})
            seen.append((observations, infos))
    env.close()
    return seen


def remote(family: Family, server: Server, env_id: str, size: int, **settings: Any) -> Any:
    return family.remote(server.target, env_id, size, on_lost="replay", **settings)


@pytest.mark.parametrize(
    ("family", "mode", "sessions"), cross(FAMILIES, ["NEXT_STEP", "SAME_STEP", "DISABLED"], [1, 3])
)
def test_a_training_that_was_seeded_once_loses_sessions_late(
    fragile: Server, family: Family, mode: str, sessions: int
) -> None:
    expected = train(family.local("CartPole-v1", SIZE, mode))
    settings: dict[str, Any] = {"sessions": sessions, "autoreset_mode": mode}
    env = remote(family, fragile, "CartPole-v1", SIZE, replay_limit=LIMIT, **settings)
    assert identical(train(env, fragile), expected)
    assert env.connection_stats[1:] == (3, 3)


@pytest.mark.parametrize(
    ("family", "mode"), cross(FAMILIES, ["NEXT_STEP", "SAME_STEP", "DISABLED"])
)
def test_every_kind_of_observation_is_brought_back(
    fragile: Server, family: Family, mode: str
) -> None:
    """Members that are left out of a request show something all the same, of whatever space."""

    def drive(env: Any, kill: Any = None) -> list[Any]:
        env.action_space.seed(3)
        seen: list[Any] = [env.reset(seed=3)]
        for step in range(90):
            if kill is not None and step in (71, 85):
                kill(fragile)
            if step in (40, 69):
                env.set_attr("level", [step, step + 1, step + 2, step + 3])
            seen.append(env.step(env.action_space.sample()))
            ended = seen[-1][2] | seen[-1][3]
            if mode == "DISABLED" and ended.any():
                seed = [None, 5, None, 7] if step % 2 else None
                options = {"reset_mask": ended, "level": step}
                seen.append(env.reset(seed=seed, options=options))
            if step == 60:
                seen.append(env.reset())
        seen.append(env.call("add", 1))
        env.close()
        return seen

    expected = drive(family.local("vectors/Moody-v0", 4, mode))
    settings: dict[str, Any] = {"sessions": 1, "autoreset_mode": mode, "replay_limit": 60}
    env = remote(family, fragile, "vectors/Moody-v0", 4, **settings)
    assert identical(drive(env, kill_some), expected)
    assert env.connection_stats[1:] == (2, 2)


def steps(env: Any, count: int) -> list[Any]:
    return [env.step(np.arange(env.num_envs) % 2) for _ in range(count)]


def test_members_that_remember_episodes_are_replayed_from_the_seed(
    fragile: Server, caplog: pytest.LogCaptureFixture
) -> None:
    """Running statistics in a wrapper: the last episode alone gives other observations."""
    settings: dict[str, Any] = {"sessions": 1, "wrappers": ["NormalizeObservation"]}
    family = FAMILIES["envwire"]
    twin = family.remote(fragile.target, "CartPole-v1", 4, **settings)
    expected = [twin.reset(seed=1), *steps(twin, 300)]
    twin.close()
    env = remote(family, fragile, "CartPole-v1", 4, **settings)
    seen = [env.reset(seed=1), *steps(env, 290)]
    kill_some(fragile)
    with caplog.at_level(logging.INFO, "envwire.client"):
        seen += steps(env, 10)
    assert identical(seen, expected)
    assert "an episode alone does not bring it back; replaying 291 requests" in caplog.text
    env.close()
    short = remote(family, fragile, "CartPole-v1", 4, replay_limit=200, **settings)
    short.reset(seed=1)
    steps(short, 290)
    kill_some(fragile)
    with pytest.raises(ReplayError, match="went another way"):
        short.step(np.zeros(4, np.int64))
    short.close()


def test_members_without_a_generator_are_replayed_from_the_seed(
    fragile: Server, caplog: pytest.LogCaptureFixture
) -> None:
    family = FAMILIES["envwire"]
    twin = family.local("vectors/Counted-v0", 2)
    expected = [twin.reset(seed=1), *steps(twin, 150)]
    env = remote(family, fragile, "vectors/Counted-v0", 2, sessions=1)
    seen = [env.reset(seed=1), *steps(env, 140)]
    kill_some(fragile)
    with caplog.at_level(logging.INFO, "envwire.client"):
        seen += steps(env, 10)
    assert identical(seen, expected)
    env.close()
    short = remote(family, fragile, "vectors/Counted-v0", 2, sessions=1, replay_limit=50)
    short.reset(seed=1)
    steps(short, 60)
    kill_some(fragile)
    with pytest.raises(ReplayError, match="replay_limit=50"):
        short.step(np.zeros(2, np.int64))
    short.close()


def test_an_episode_that_was_too_long_is_no_obstacle_once_it_is_over(fragile: Server) -> None:
    """The log begins again with the next episodes."""
    family = FAMILIES["gymnasium"]
    twin = family.local("Pendulum-v1", 2)
    env = remote(family, fragile, "Pendulum-v1", 2, sessions=1, replay_limit=150)
    seen = [[each.reset(seed=4)] for each in (env, twin)]
    for each, shown in zip((env, twin), seen, strict=True):
        for step in range(330):  # episodes of 200 steps, and one reset between them
            if step == 290:
                shown.append(each.reset())
            if step == 325 and each is env:
                kill_some(fragile)
            shown.append(each.step(np.zeros((2, 1), np.float32)))
    assert identical(*seen)
    assert env.connection_stats[1:] == (1, 1)
    env.close()
    twin.close()
