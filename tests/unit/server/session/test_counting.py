"""Counting of episodes, beside an oracle that steps each member by itself."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from envwire.server._session.counting import MemberEpisodes, SingleEpisodes

Ended = list[tuple[float, int]]


def played(count: Any, *steps: tuple[Any, Any, Any]) -> Ended:
    ended: Ended = []
    for reward, terminated, truncated in steps:
        ended += count.step((None, reward, terminated, truncated, {}))
    return ended


def test_an_episode_has_the_sum_of_its_rewards_and_its_steps() -> None:
    count = SingleEpisodes()
    count.begin()
    assert played(count, (1.0, False, False), (2, False, False)) == []
    assert played(count, (np.float32(0.5), np.True_, False)) == [(3.5, 3)]
    count.begin()
    assert played(count, (-1.0, False, True)) == [(-1.0, 1)]


def test_steps_outside_of_episodes_count_for_none() -> None:
    count = SingleEpisodes()
    assert played(count, (1.0, True, False)) == [], "before any reset"
    count.begin()
    assert played(count, (1.0, True, False), (1.0, True, False)) == [(1.0, 1)], "after the end"
    count.begin()
    played(count, (5.0, False, False))
    count.begin()
    assert played(count, (1.0, True, False)) == [(1.0, 1)], "the one that was left has no end"
    count.begin()
    count.leave()
    assert played(count, (1.0, True, False)) == [], "after a return to a saved state"


@pytest.mark.parametrize("reward", ["1", None, object(), [1.0], {"a": "x"}])
def test_a_reward_that_is_no_number_ends_the_count_of_its_episode_and_nothing_else(
    reward: Any,
) -> None:
    count = SingleEpisodes()
    count.begin()
    assert played(count, (reward, False, False), (1.0, True, False)) == [] or reward == "1"
    count.begin()
    assert played(count, (1.0, True, False)) == [(1.0, 1)]


def test_agents_earn_together() -> None:
    count = SingleEpisodes()
    count.begin()
    assert played(count, ({"a": 1.0, "b": np.float64(2.0)}, True, False)) == [(3.0, 1)]


class Oracle:
    """Plays members by themselves, as a vector environment of each mode would."""

    def __init__(self, count: int, mode: str, seed: int) -> None:
        self.random = np.random.default_rng(seed)
        self.mode = mode
        self.totals, self.lengths = [0.0] * count, [0] * count
        self.over = [False] * count
        self.ended: Ended = []

    def step(self) -> tuple[Any, Any, Any]:
        count = len(self.totals)
        rewards = self.random.integers(-8, 8, count) / 4
        terminated = self.random.random(count) < 0.2
        truncated = self.random.random(count) < 0.1
        for member in range(count):
            if self.over[member]:
                rewards[member], terminated[member], truncated[member] = 0.0, False, False
                if self.mode == "DISABLED":
                    rewards[member], terminated[member] = 3.0, True
                    continue
                self.over[member] = False
                self.totals[member], self.lengths[member] = 0.0, 0
                continue
            self.totals[member] += rewards[member]
            self.lengths[member] += 1
            if terminated[member] or truncated[member]:
                self.ended.append((self.totals[member], self.lengths[member]))
                self.totals[member], self.lengths[member] = 0.0, 0
                self.over[member] = self.mode != "SAME_STEP"
        return rewards, terminated, truncated

    def reset_ended(self) -> np.ndarray:
        chosen = np.flatnonzero(self.over)[::2]
        for member in chosen:
            self.over[member] = False
        return chosen


@pytest.mark.parametrize("mode", ["NEXT_STEP", "SAME_STEP", "DISABLED"])
@pytest.mark.parametrize("members", [1, 5])
def test_members_are_counted_each_by_itself(mode: str, members: int) -> None:
    oracle, count = Oracle(members, mode, seed=members), MemberEpisodes(members, mode)
    count.begin()
    ended: Ended = []
    for _ in range(300):
        ended += played(count, oracle.step())
        if mode == "DISABLED":
            count.begin(list(oracle.reset_ended()))
    assert len(ended) > 20
    assert ended == oracle.ended


def test_a_reset_of_all_leaves_every_episode() -> None:
    count = MemberEpisodes(2, "NEXT_STEP")
    none, both = np.zeros(2, np.bool_), np.ones(2, np.bool_)
    count.begin()
    played(count, (np.ones(2), none, none), (np.ones(2), none, np.array([True, False])))
    count.begin()
    assert played(count, (np.ones(2), both, none)) == [(1.0, 1), (1.0, 1)]


def test_arrays_of_the_environment_are_not_written_to() -> None:
    count = MemberEpisodes(2, "SAME_STEP")
    rewards, flags = np.ones(2), np.array([True, False])
    for each in (rewards, flags):
        each.flags.writeable = False
    count.begin()
    assert played(count, (rewards, flags, flags), (rewards, flags, flags)) == [(1.0, 1), (1.0, 1)]


@pytest.mark.parametrize(
    "step", [(np.ones(3), np.zeros(2, bool), np.zeros(2, bool)), ("xy", 1, 2), (None, None, None)]
)
def test_what_is_no_array_of_members_is_not_counted(step: Any) -> None:
    count = MemberEpisodes(2, "SAME_STEP")
    count.begin()
    assert played(count, step, (np.ones(2), np.ones(2, bool), np.ones(2, bool))) == []


def test_nothing_is_counted_where_nobody_knows_when_members_are_reset() -> None:
    count = MemberEpisodes(1, "")
    count.begin()
    assert played(count, (np.ones(1), np.ones(1, bool), np.zeros(1, bool))) == []
