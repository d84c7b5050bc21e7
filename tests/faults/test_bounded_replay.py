"""Replay costs an episode, however long the run: a training that was seeded once goes on after any number of steps."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from envwire.client import RemoteEnv, ReplayError
from envwire.testing.comparing import identical
from tests.unit.client.recovery.test_strategies import FAULTY, WAVERING, Mortal, remote


@pytest.fixture
def there() -> Mortal:
    return Mortal()


def train(env: Any, steps: int, kill: Any = None) -> np.ndarray[Any, Any]:
    """Returns the weights of a small agent that learns from each step; it loses its session behind `steps`."""
    random = np.random.default_rng(3)
    weights = np.zeros(4)
    observation, _ = env.reset(seed=7)
    for step in range(steps + 300):
        if kill is not None and step in (steps, steps + 1, steps + 150):
            kill()
        explore, logit = random.random() < 0.3, float(observation @ weights)
        action = int(random.integers(2)) if explore else int(logit > 0)
        following, reward, terminated, truncated, _ = env.step(action)
        weights += 1e-3 * (2 * action - 1) * (float(reward) - terminated * 10) * observation
        observation = env.reset()[0] if terminated or truncated else following
    return weights


@pytest.mark.parametrize(
    ("steps", "limit"),
    [(3_000, 1_000), pytest.param(150_000, 100_000, marks=pytest.mark.long)],
)
def test_a_training_that_was_seeded_once_loses_a_session_late(
    there: Mortal, steps: int, limit: int
) -> None:
    expected = train(remote(there, "CartPole-v1", "raise"), steps)
    env = remote(there, "CartPole-v1", "replay", replay_limit=limit)
    assert identical(train(env, steps, there.kill), expected)
    assert env.connection_stats == (0, 3, 3)


def test_what_outlasts_episodes_is_replayed_before_the_episode(there: Mortal) -> None:
    def drive(env: RemoteEnv, kill: Any = None) -> list[Any]:
        env.reset(seed=7)
        env.set_wrapper_attr("gravity", 20.0)
        seen: list[Any] = []
        for _ in range(4):
            seen += [env.reset(), env.step(1)]
            env.set_wrapper_attr("length", 0.7)
            seen.append(env.step(1))
            if kill is not None:
                kill()
            seen += [env.step(1), env.np_random_seed]
        return seen

    expected = drive(remote(there, "CartPole-v1", "raise"))
    env = remote(there, "CartPole-v1", "replay", replay_limit=20)
    assert identical(drive(env, there.kill), expected)


def test_an_episode_begins_behind_what_methods_drew(there: Mortal) -> None:
    """The client's copy of the generator, made by its own draw, does not know of them."""

    def drive(env: RemoteEnv, kill: Any = None) -> list[Any]:
        seen: list[Any] = [env.reset(seed=7)[0], env.np_random.random(), env.step(1)[0]]
        seen += [env.unwrapped.draw(), env.reset()[0], env.step(0)[0]]
        if kill is not None:
            kill()
        return [*seen, env.step(1)[0]]

    expected = drive(remote(there, WAVERING, "raise"))
    assert identical(drive(remote(there, WAVERING, "replay")), expected)
    assert identical(drive(remote(there, WAVERING, "replay"), there.kill), expected)


def test_an_environment_that_remembers_episodes_is_replayed_from_the_seed(there: Mortal) -> None:
    """Running statistics in a wrapper on the server: the last episode alone gives other observations."""

    def drive(env: RemoteEnv, kill: Any = None) -> list[Any]:
        seen: list[Any] = [env.reset(seed=7)]
        for _ in range(3):
            seen += [env.reset(), env.step(1), env.step(0)]
            if kill is not None:
                kill()
            seen.append(env.step(1))
        return seen

    wrappers = ["NormalizeObservation"]
    expected = drive(remote(there, "CartPole-v1", "raise", wrappers=wrappers))
    env = remote(there, "CartPole-v1", "replay", wrappers=wrappers)
    assert identical(drive(env, there.kill), expected)
    assert env.connection_stats == (0, 3, 3)


def test_an_episode_may_be_too_long_as_well(there: Mortal) -> None:
    env = remote(there, FAULTY, "replay", replay_limit=10)
    env.reset(seed=1)
    env.reset()
    for _ in range(20):
        env.step(0)
    there.kill()
    with pytest.raises(ReplayError, match="replay_limit=10"):
        env.step(0)


def test_nothing_more_is_asked_by_those_who_record_nothing(there: Mortal) -> None:
    asked: list[bytes] = []
    kept: list[RemoteEnv] = []  # one that is collected is closed, which is a request as well
    exchange = there.exchange
    there.exchange = lambda *args: asked.append(args[0]) or exchange(*args)  # type: ignore[method-assign, func-returns-value, misc]
    for on_lost, requests in (("raise", 1), ("truncate", 1), ("replay", 2)):
        kept.append(remote(there, "CartPole-v1", on_lost))
        asked.clear()
        kept[-1].reset()
        assert len(asked) == requests
