"""The saved states of a session are bounded by their memory, wrappers' copies included."""

from __future__ import annotations

from collections import deque
from typing import Any

import numpy as np
import pytest

import envwire.envs as gym
from envwire.codec import FaultError
from envwire.server._session.snapshots import Snapshots, size_of

MEGABYTE = 2**20


class Saving(gym.Env[int, int]):
    observation_space = action_space = gym.spaces.Discrete(2)

    def save_state(self) -> bytes:
        return b"small"

    def restore_state(self, state: bytes) -> None: ...


class Hoard:
    """An object that is no container, and holds much."""

    def __init__(self) -> None:
        self.frames = deque(np.zeros(MEGABYTE, np.uint8) for _ in range(10))


class Hoarding(gym.Wrapper[int, int, int, int]):
    def __init__(self, env: Any) -> None:
        super().__init__(env)
        self.hoard = Hoard()


def kept(saved: Snapshots, last: int) -> int:
    """Returns how many of the states up to `last` can be restored."""
    count = 0
    for number in range(1, last + 1):
        try:
            saved.restore(number)
        except FaultError:
            continue
        count += 1
    return count


def test_the_copies_of_wrappers_count() -> None:
    saved = Snapshots(Hoarding(Saving()), 100 * MEGABYTE)
    last = [saved.save() for _ in range(20)][-1]
    assert kept(saved, last) == 9


def test_small_states_are_kept() -> None:
    saved = Snapshots(gym.wrappers.TimeLimit(Saving(), 10), MEGABYTE)
    last = [saved.save() for _ in range(20)][-1]
    assert kept(saved, last) == 20


def test_the_last_state_is_kept_however_large_it_is() -> None:
    saved = Snapshots(Hoarding(Saving()), 1)
    last = [saved.save() for _ in range(3)][-1]
    assert kept(saved, last) == 1
    saved.restore(last)


FRAME = np.zeros(MEGABYTE)
VIEWED = np.zeros((2, MEGABYTE))


@pytest.mark.parametrize(
    ("value", "size"),
    [
        (FRAME, FRAME.nbytes),
        ([FRAME] * 5, FRAME.nbytes),
        ({"a": FRAME, "b": (FRAME.copy(), bytearray(MEGABYTE))}, 2 * FRAME.nbytes + MEGABYTE),
        (VIEWED[0], VIEWED.nbytes),
        (np.array([bytes(MEGABYTE), None], object), MEGABYTE),
        (Hoard(), 10 * MEGABYTE),
        (np, 0),
        (Hoard, 0),
    ],
    ids=["array", "one five times", "nested", "view", "objects", "object", "module", "class"],
)
def test_size(value: Any, size: int) -> None:
    assert size <= size_of(value) < size + 10_000


def test_what_is_shared_does_not_count() -> None:
    assert size_of([FRAME, b"x"], shared=[FRAME]) < 10_000
