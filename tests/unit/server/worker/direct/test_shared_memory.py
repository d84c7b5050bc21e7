"""Shared memory, both ends in one process: frames stay as long as they are used, and nothing can be cut off."""

from __future__ import annotations

import gc
import mmap
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import envwire.envs as gym
from envwire.client._transports.direct.array_memory import SharedFrames
from envwire.server._worker.direct.shared_memory import (
    SHARED_FROM,
    SharedSlots,
    box_bytes,
    share,
)
from envwire.v1 import direct_pb2
from envwire.wire.frames import Attachments

SLOTS = 3
SIZE = 2 * SHARED_FROM
PAGE = mmap.PAGESIZE
Pair = tuple[SharedSlots, SharedFrames]


@pytest.fixture
def pair() -> Iterator[Pair]:
    """The server's end and the client's."""
    slots = SharedSlots(SLOTS, SIZE)
    yield slots, SharedFrames(slots.descriptor, slots.layout)
    slots.close()


def attachments(value: int, size: int = SIZE) -> Attachments:
    made = Attachments()
    made.add(np.full(size, value, np.uint8))
    return made


def test_a_frame_is_read_where_it_was_written(pair: Pair) -> None:
    slots, frames = pair
    made = Attachments()
    arrays: list[Any] = [np.arange(n, dtype=np.int16) for n in (20_001, 20_003)]
    offsets = [made.add(array) for array in arrays]
    area = frames.area(slots.put(made), made.length)
    for offset, array in zip(offsets, arrays, strict=True):
        assert area[offset : offset + array.nbytes].tobytes() == array.tobytes()


def test_kept_arrays_are_never_overwritten_and_given_back_when_the_last_is_gone(pair: Pair) -> None:
    slots, frames = pair
    kept = [frames.area(slots.put(attachments(value)), SIZE) for value in range(SLOTS + 1)]
    assert slots.put(attachments(99)) == SLOTS, "what came in the last slot was copied out of it"
    assert slots.put(attachments(99)) == 0, "all are taken"
    assert [set(area[::999].tolist()) for area in kept] == [{0}, {1}, {2}, {3}]
    part: Any = kept.pop(1)[5:6]
    gc.collect()
    assert slots.put(attachments(99)) == 0, "a part keeps the whole"
    assert part.tolist() == [1]
    del part
    assert slots.put(attachments(99)) == 2
    assert [set(area[::999].tolist()) for area in kept] == [{0}, {2}, {3}]


def test_no_memory_for_another_slot_is_no_error(
    pair: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: int) -> None:
        raise OSError(28, "no space left")

    slots, frames = pair
    first = frames.area(slots.put(attachments(1)), SIZE)
    with monkeypatch.context() as patched:
        patched.setattr(os, "posix_fallocate", refuse)
        assert slots.put(attachments(2)) == 0
        del first
        assert slots.put(attachments(3)) == 1, "the first has memory"
    assert slots.put(attachments(4)) == 2


@pytest.mark.parametrize("size", [SHARED_FROM - 1, SIZE + 1])
def test_frames_that_are_small_or_too_large_go_another_way(pair: Pair, size: int) -> None:
    assert pair[0].put(attachments(1, size)) == 0


def test_arrays_outlive_both_ends(pair: Pair) -> None:
    slots = SharedSlots(SLOTS, SIZE)
    frames = SharedFrames(slots.descriptor, slots.layout)
    area = frames.area(slots.put(attachments(7)), SIZE)
    slots.close()
    del frames
    gc.collect()
    assert set(area.tolist()) == {7}
    area[:] = 8
    assert set(area.tolist()) == {8}


@pytest.mark.parametrize("size", [0, PAGE, 100 * 2**20])
def test_a_client_cannot_change_its_size(pair: Pair, size: int) -> None:
    with pytest.raises(PermissionError):
        os.ftruncate(pair[0].descriptor, size)


@pytest.mark.parametrize(("where", "length"), [(SLOTS + 1, SIZE), (1, SIZE + 1), (2**32 - 1, 1)])
def test_a_frame_in_no_slot_is_refused(pair: Pair, where: int, length: int) -> None:
    with pytest.raises(OSError, match=f"slot {where} of {SLOTS}"):
        pair[1].area(where, length)


@pytest.mark.parametrize("slot_bytes", [SIZE, 2**62])
def test_memory_of_another_size_is_refused(pair: Pair, slot_bytes: int) -> None:
    layout = direct_pb2.SharedMemory(slots=SLOTS + 1, slot_bytes=slot_bytes, first_slot=PAGE)
    with pytest.raises(OSError, match="wrong size"):
        SharedFrames(pair[0].descriptor, layout)


def box(*shape: int, dtype: Any = np.uint8) -> gym.spaces.Box:
    return gym.spaces.Box(0, 1, shape, dtype)


ROOMY = 2**30


@pytest.mark.parametrize(
    ("space", "slot_bytes"),
    [
        (box(64, 64, 16), 65536),
        (box(64, 64, 16, dtype=np.float64), 8 * 65536),
        (box(65537), 65536 + PAGE),
        (gym.spaces.Dict({"a": box(60_000), "b": box(60_001)}), 120 * 1024),
        (gym.spaces.Tuple([box(70_000), gym.spaces.Discrete(3)]), 72 * 1024),
    ],
)
def test_a_slot_holds_an_observation(space: Any, slot_bytes: int) -> None:
    slots = share(ROOMY, space)
    assert slots is not None
    assert slots.layout.slot_bytes == -(-slot_bytes // PAGE) * PAGE
    assert slots.layout.slots == 8
    slots.close()


@pytest.mark.parametrize(
    "space",
    [
        box(4),
        box(65472),
        gym.spaces.Discrete(5),
        gym.spaces.Text(2**20),
        gym.spaces.Sequence(box(2**20)),
        None,
    ],
)
def test_small_and_unmeasurable_observations_get_none(space: Any) -> None:
    assert share(ROOMY, space) is None


@pytest.mark.parametrize("budget", [0, 1, SIZE, 2 * SIZE, 2 * SIZE + PAGE, 5 * SIZE, ROOMY])
@pytest.mark.parametrize("extra", [0, 1])
def test_the_budget_is_kept(budget: int, extra: int) -> None:
    slots = share(budget, box(SIZE + extra))
    least = 2 * (SIZE + extra * PAGE) + PAGE
    assert (slots is None) == (budget < least)
    if slots is not None:
        assert os.fstat(slots.descriptor).st_size <= budget
        slots.close()


def memory_files() -> int:
    """Counts those that are open; other threads may open sockets and close them."""
    links = Path("/proc/self/fd").iterdir()
    return sum("memfd:" in os.path.realpath(each) for each in links)


def test_no_memory_is_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: int) -> None:
        raise OSError(28, "no space left")

    before = memory_files()
    monkeypatch.setattr(os, "posix_fallocate", refuse)
    assert share(ROOMY, box(SIZE)) is None
    assert memory_files() == before


@pytest.mark.parametrize(
    ("observation", "action", "least", "most"),
    [
        ((4,), (1,), 1, 1),
        ((84, 84, 4), (1,), 28224, 32768),
        ((SHARED_FROM,), (1,), 1, 1),
        ((4,), (30_000,), 30_000, 32768),
        ((4,), (1 << 21,), 1 << 17, 1 << 17),
    ],
    ids=["small", "a picture", "in a slot", "a large action", "too large an action"],
)
def test_boxes_hold_a_step(
    observation: tuple[int, ...], action: tuple[int, ...], least: int, most: int
) -> None:
    class Sized:
        observation_space = gym.spaces.Box(0, 255, observation, np.uint8)
        action_space = gym.spaces.Box(0, 255, action, np.uint8)

    size = box_bytes(Sized())
    assert least <= size <= max(most, PAGE)
    assert size % PAGE == 0
