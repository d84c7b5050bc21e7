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

#: How often an episode begins again whose session was lost, before the evaluation gives up.
_ATTEMPTS = 5


@dataclass(frozen=True)
class Result:
    """What one episode came to.

    Attributes:
        index: Which it was.
        seed: What it was reset with.
        total: Its return.
        steps: Its length.
        end: "terminated", "truncated", or "cut" after as many steps as were allowed.
    """

    index: int
    seed: int
    total: float
    steps: int
    end: str


@dataclass(frozen=True)
class Plan:
    """What is evaluated.

    Attributes:
        policy: Chooses the actions.
        episodes: How many to play.
        seed: What the seeds of the episodes are derived from.
        max_steps: Steps after which an episode is cut.
    """

    policy: Policy
    episodes: int
    seed: int
    max_steps: int


def episode_seed(seed: int, index: int) -> int:
    """Returns the seed of an episode: it depends on nothing else, so it does not matter who plays the episode."""
    return int(np.random.SeedSequence([seed, index]).generate_state(1)[0])


def evaluate(
    plan: Plan, make: Callable[[], Any], shards: int, advance: Callable[[], None]
) -> list[Result]:
    """Plays all episodes and returns their results in order, the same for any number of shards.

    Args:
        plan: What to play.
        make: Makes an environment; each shard has one.
        shards: How many play side by side.
        advance: Called after each episode.

    Raises:
        Exception: Whatever an environment, the policy or the connection raised first.
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
            over.set()  # the others end after the episodes that they are in
    results = itertools.chain.from_iterable(each.result() for each in playing)
    return sorted(results, key=lambda result: result.index)


def _episode(plan: Plan, env: Any, index: int) -> Result:
    """Plays one episode; one whose session is lost begins again, and counts once."""
    for _ in range(_ATTEMPTS - 1):
        with contextlib.suppress(SessionLostError):
            return _attempt(plan, env, index)
    return _attempt(plan, env, index)


def _attempt(plan: Plan, env: Any, index: int) -> Result:
    seed = episode_seed(plan.seed, index)
    env.action_space.seed(seed)
    observation, _ = env.reset(seed=seed)
    total, steps, end = 0.0, 0, ""
    while not end:
        action = plan.policy(observation, env.action_space)
        observation, reward, terminated, truncated, _ = env.step(action)
        total, steps = total + float(reward), steps + 1
        if terminated or truncated:
            end = "terminated" if terminated else "truncated"
        elif steps == plan.max_steps:
            end = "cut"
    return Result(index, seed, total, steps, end)
