"""Batches, infos and resets of a vector environment cut and put together, without a server."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.vector.utils import batch_space as gymnasium_batch_space
from gymnasium.vector.utils import iterate

import envwire.envs as gym
from envwire.client._transports.direct.array_memory import Recycled
from envwire.client._vector.batches import BatchBuffer, cutter, merger, row_bytes
from envwire.client._vector.infos import join_infos, rows
from envwire.codec import envwire_family
from envwire.envs.spaces.batched_elements import elements_of
from envwire.envs.vector import VectorEnv
from envwire.envs.vector.utils import batch_space, concatenate, create_empty_array
from envwire.server._hosting.vector_hosts import columns, gather
from envwire.testing.comparing import identical
from tests.each import each
from tests.space_catalogue import catalogue

FAMILY = envwire_family()
SPACES = catalogue(gym.spaces)
RANDOM = np.random.default_rng(3)


def _batch(space: Any, elements: list[Any]) -> Any:
    return concatenate(space, elements, create_empty_array(space, len(elements)))


@each("space", SPACES)
def test_observations_and_actions_of_every_space(space: Any) -> None:
    elements = [space.sample() for _ in range(5)]
    whole = _batch(space, elements)
    bounds = [(0, 2), (2, 3), (3, 5)]
    parts = [_batch(space, elements[start:stop]) for start, stop in bounds]
    assert identical(merger(space, FAMILY)(parts), whole)
    cuts = cutter(space, FAMILY)(whole, bounds)
    taken: list[Any] = []
    for cut, (start, stop) in zip(cuts, bounds, strict=True):
        taken += elements_of(batch_space(space, stop - start), cut) or []
    # Batches of nothing cannot be taken apart, here or anywhere.
    assert identical(taken, elements_of(batch_space(space, 5), whole) or [])


@pytest.mark.parametrize(
    "action", [None, 1, np.array(1), object()], ids=["None", "1", "array", "object"]
)
@pytest.mark.parametrize("kind", ["whole", "part"])
def test_actions_that_are_no_batch_are_refused_as_gymnasium_does(action: Any, kind: str) -> None:
    theirs, ours = gymnasium.spaces.Discrete(2), gym.spaces.Discrete(2)
    if kind == "part":
        theirs, ours = gymnasium.spaces.Dict(a=theirs), gym.spaces.Dict(a=ours)
        action = {"a": action}
    with pytest.raises((TypeError, ValueError)) as expected:
        list(iterate(gymnasium_batch_space(theirs, 2), action))
    with pytest.raises(expected.type, match=r"no batch .* give one action for each of num_envs=2"):
        cutter(ours, FAMILY)(action, [(0, 2)])


def test_a_room_says_whether_all_landed_in_it() -> None:
    space = gym.spaces.Box(0, 1, (3, 4), np.float32)
    room = BatchBuffer(space, [2, 1], Recycled())
    batches: list[Any] = [RANDOM.random((size, 3, 4), np.float32) for size in (2, 1)]
    landed: list[Any] = []
    places: list[Any] = room.buffers
    for batch, place in zip(batches, places, strict=True):
        place[:] = batch.reshape(-1).view(np.uint8)
        landed.append(place.view(np.float32).reshape(batch.shape))
    whole = np.concatenate(batches)
    assert identical(room.merged(landed), whole)
    assert room.merged(landed) is room.merged(landed)
    elsewhere = [landed[0], batches[1]]
    assert identical(room.merged(elsewhere), whole)
    other = [landed[0], batches[1].astype(np.float64)]
    assert identical(room.merged(other), np.concatenate(other)), "an observation of another type"
    assert (row_bytes(space, FAMILY), row_bytes(gym.spaces.Text(3), FAMILY)) == (48, 0)


class _Infos(VectorEnv[Any, Any, Any]):
    """Puts infos together as every vector environment does."""

    def __init__(self, num_envs: int) -> None:
        self.num_envs = num_envs

    def merged(self, infos: list[dict[Any, Any]]) -> dict[str, Any]:
        merged: dict[str, Any] = {}
        for index, info in enumerate(infos):
            merged = self._add_info(merged, info, index)
        return merged


def _random_info() -> dict[Any, Any]:
    draw = int(RANDOM.integers(2**7))
    number = (draw, draw / 3, bool(draw & 1), np.float32(draw / 7), np.int64(draw))[draw % 5]
    candidates: dict[Any, Any] = {
        "number": number,
        "text": (None, "x", (1, 2.5))[draw % 3],
        "array": np.full((2,), draw, np.int16),
        "flag": np.bool_(draw & 1),
        "final_obs": np.full((3,), draw, np.float32),
        "final_info": {"number": number, "empty": {}},
        "nested": {} if draw % 2 else {"deep": {"number": number}},
    }
    return {
        key: value for place, (key, value) in enumerate(candidates.items()) if draw >> place & 1
    }


def _gathered(infos: list[dict[Any, Any]]) -> dict[Any, Any]:
    gathered: dict[Any, Any] = {}
    for index, info in enumerate(infos):
        gathered = gather(gathered, info, index)
    return columns(gathered, len(infos))


def test_infos_of_sessions_are_those_of_one_vector_environment() -> None:
    for _ in range(300):
        infos = [_random_info() for _ in range(6)]
        cut = sorted(RANDOM.choice(np.arange(1, 6), 2, replace=False).tolist())
        bounds = list(zip([0, *cut], [*cut, 6], strict=True))
        sizes = [stop - start for start, stop in bounds]
        parts = [_gathered(infos[start:stop]) for start, stop in bounds]
        assert identical(join_infos(sizes, parts), _Infos(6).merged(infos))
        whole = [row for size, part in zip(sizes, parts, strict=True) for row in rows(part, size)]
        assert [sorted(row) for row in whole] == [sorted(info) for info in infos]
