"""The results of an evaluation do not depend on which shard played an episode, and each episode counts once."""

from __future__ import annotations

import random
import threading
import time
from collections import Counter
from typing import Any

import numpy as np
import pytest

import envwire.envs as gym
from envwire.client.errors import SessionLostError
from envwire.server.cli._drive.evaluation import (
    Plan,
    Result,
    episode_seed,
    evaluate,
    histogram,
    interval,
    summary,
)
from envwire.server.cli._drive.own_code import load_policy
from envwire.server.cli._failures import CommandError
from tests.tiers import first


class Drawn(gym.Env[int, int]):
    """Rewards by draws of its own generator; ends by chance."""

    observation_space: Any = gym.spaces.Discrete(100)
    action_space: Any

    def __init__(self) -> None:
        self.action_space = gym.spaces.Discrete(100)
        self.closed = False

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        return 0, {}

    def step(self, action: int) -> Any:
        time.sleep(random.random() * 1e-4)  # whose turn it is next is not to matter
        reward = float(self.np_random.random() + action)
        return 1, reward, bool(self.np_random.random() < 0.1), False, {}

    def close(self) -> None:
        self.closed = True


def plan(episodes: int = 40, policy: str = "random", max_steps: int = 30) -> Plan:
    return Plan(load_policy(policy), episodes, 7, max_steps)


def played(shards: int, make: Any = Drawn, **settings: Any) -> list[Result]:
    return evaluate(plan(**settings), make, shards, lambda: None)


def test_any_number_of_shards_gives_the_same_results() -> None:
    one = played(1)
    assert [result.index for result in one] == list(range(40))
    assert len({result.seed for result in one}) == 40
    for shards in (3, 8, 100):
        assert played(shards) == one


def test_seeds_are_the_episodes_own() -> None:
    assert [result.seed for result in played(2, episodes=5)] == [
        episode_seed(7, index) for index in range(5)
    ]
    assert episode_seed(7, 0) != episode_seed(8, 0)


def test_an_episode_whose_session_is_lost_begins_again_and_counts_once() -> None:
    class Lossy(Drawn):
        lost = 0

        def step(self, action: int) -> Any:
            result = super().step(action)
            if Lossy.lost < 3 and result[1] > 50:
                Lossy.lost += 1
                raise SessionLostError("its process died")
            return result

    assert played(4, Lossy) == played(1)
    assert Lossy.lost == 3


def test_one_that_is_always_lost_ends_the_evaluation() -> None:
    class Dying(Drawn):
        def step(self, action: int) -> Any:
            raise SessionLostError("its process died")

    with pytest.raises(SessionLostError):
        played(2, Dying)


def test_an_error_ends_all_shards_and_closes_their_environments() -> None:
    made: list[Drawn] = []
    lock = threading.Lock()

    def make() -> Drawn:
        with lock:
            made.append(Drawn())
        return made[-1]

    calls = Counter[str]()

    def policy(_: Any) -> int:
        calls["policy"] += 1
        if calls["policy"] > 50:
            raise ZeroDivisionError("of the policy")
        return 0

    with pytest.raises(ZeroDivisionError):
        evaluate(Plan(lambda seen, _: policy(seen), 10_000, 0, 30), make, 4, lambda: None)
    assert all(env.closed for env in made)


def test_a_policy_is_given_what_it_takes() -> None:
    here = __name__
    assert load_policy(f"{here}:of_observation")(3, None) == 3
    assert load_policy(f"{here}:of_both")(3, 4) == (3, 4)
    with pytest.raises(CommandError, match="has no function none"):
        load_policy(f"{here}:none")
    with pytest.raises(CommandError, match="has no function __name__"):
        load_policy(f"{here}:__name__")
    with pytest.raises(ImportError):
        load_policy("no.such.module:policy")


def of_observation(observation: Any) -> Any:
    return observation


def of_both(observation: Any, space: Any) -> Any:
    return observation, space


@pytest.mark.parametrize("trials", first([40, 200]))
def test_the_interval_holds_the_mean_about_as_often_as_it_says(trials: int) -> None:
    rng = np.random.default_rng(0)
    hits = 0
    for trial in range(trials):
        low, high = interval(rng.exponential(1.0, 100), seed=trial)
        hits += low <= 1.0 <= high
    assert 0.875 <= hits / trials <= 0.99  # 95 %, and what chance and skew take from it


def test_a_summary_of_one_episode_and_of_equal_ones() -> None:
    results = [Result(index, index, 5.0, 9, "truncated") for index in range(3)]
    for some in (results[:1], results):
        told = summary(some, seed=0)
        assert told["return"]["mean"] == 5.0
        assert told["return"]["ci95"] == [5.0, 5.0]
        assert told["ends"]["truncated"] == len(some)
        (line,) = histogram(np.array([result.total for result in some]))
        assert line.endswith(str(len(some)))


def test_a_histogram_counts_everything() -> None:
    lines = histogram(np.arange(100.0))
    assert sum(int(line.rsplit(" ", 1)[1]) for line in lines) == 100
