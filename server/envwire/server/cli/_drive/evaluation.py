"""Evaluates a policy: many episodes, spread over sessions, each counted once."""

from __future__ import annotations

import contextlib
import itertools
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from envwire.client.errors import SessionLostError

if TYPE_CHECKING:
    from envwire.server.cli._drive.policies import Policy

#: How often an episode whose session was lost is restarted before the evaluation gives up.
_ATTEMPTS = 5


@dataclass(frozen=True)
class Result:
    """The result of one episode.

    Attributes:
        index: Index of the episode.
        seed: Seed of its reset.
        total: Its return.
        steps: Its length.
        end: "terminated", "truncated", or "cut" at the maximum number of steps.
    """

    index: int
    seed: int
    total: float
    steps: int
    end: str


@dataclass(frozen=True)
class Plan:
    """Parameters of an evaluation.

    Attributes:
        policy: Chooses the actions.
        episodes: Number of episodes.
        seed: Seed from which the episodes' seeds are derived.
        max_steps: Steps after which an episode is cut.
    """

    policy: Policy
    episodes: int
    seed: int
    max_steps: int


def episode_seed(seed: int, index: int) -> int:
    """Returns the seed of an episode, which depends on nothing else, so that any shard may play the episode."""
    return int(np.random.SeedSequence([seed, index]).generate_state(1)[0])


def evaluate(
    plan: Plan, make: Callable[[], Any], shards: int, advance: Callable[[], None]
) -> list[Result]:
    """Plays all episodes and returns their results in order, the same for any number of shards.

    Args:
        plan: The parameters.
        make: Makes an environment; called once per shard.
        shards: Number of environments that play in parallel.
        advance: Called after each episode.

    Raises:
        Exception: The first exception of an environment, the policy or the connection.
    """
    indices = iter(range(plan.episodes))
    lock, over = threading.Lock(), threading.Event()

    def claimed() -> Iterator[int]:
        while not over.is_set():
            with lock:
                index = next(indices, None)
            if index is None:
                return
            yield index

    def play() -> list[Result]:
        env = make()
        try:
            results: list[Result] = []
            for index in claimed():
                results.append(_episode(plan, env, index))
                advance()
            return results
        finally:
            env.close()

    with ThreadPoolExecutor(shards, "evaluation") as pool:
        playing = [pool.submit(play) for _ in range(min(shards, plan.episodes))]
        try:
            wait(playing, return_when=FIRST_EXCEPTION)
        finally:
            over.set()  # the others finish their current episodes
    results = itertools.chain.from_iterable(each.result() for each in playing)
    return sorted(results, key=lambda result: result.index)


def _episode(plan: Plan, env: Any, index: int) -> Result:
    """Plays one episode; if its session is lost, the episode is restarted and counts once."""
    for _ in range(_ATTEMPTS - 1):
        with contextlib.suppress(SessionLostError):
            return _attempt(plan, env, index)
    return _attempt(plan, env, index)


def _attempt(plan: Plan, env: Any, index: int) -> Result:
    seed = episode_seed(plan.seed, index)
    env.action_space.seed(seed)
    return Result(index, seed, *play_episode(env, plan.policy, seed, plan.max_steps))


def play_episode(
    env: Any,
    policy: Policy,
    seed: int,
    max_steps: int,
    look: Callable[[], None] | None = None,
) -> tuple[float, int, str]:
    """Plays one episode; returns its return, its length, and how it ended (see `Result`).

    Args:
        env: The environment.
        policy: Chooses the actions.
        seed: Seed of its reset.
        max_steps: Steps after which it is cut.
        look: Called in each of its states.
    """
    observation, _ = env.reset(seed=seed)
    total, steps, end = 0.0, 0, ""
    if look:
        look()
    while not end:
        observation, reward, terminated, truncated, _ = env.step(
            policy(observation, env.action_space)
        )
        total, steps = total + float(reward), steps + 1
        if terminated or truncated:
            end = "terminated" if terminated else "truncated"
        elif steps == max_steps:
            end = "cut"
        if look:
            look()
    return total, steps, end
