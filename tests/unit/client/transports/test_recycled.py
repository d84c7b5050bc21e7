"""Memory for large arrays is used again only if nothing refers to it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from envwire.client._transports.direct.array_memory import RECYCLED_FROM, Recycled


def at(area: Any) -> int:
    address: int = area.__array_interface__["data"][0]
    return address


def test_memory_is_used_again_once_its_last_array_is_gone() -> None:
    recycled = Recycled()
    first: Any = recycled.new(RECYCLED_FROM)
    second: Any = recycled.new(RECYCLED_FROM)
    places = {at(first), at(second)}
    assert len(places) == 2
    view = np.ndarray((16,), np.uint8, first[64:])
    place = at(first)
    del first
    assert at(recycled.new(RECYCLED_FROM)) not in places, "a view keeps the first"
    del view, second
    assert at(recycled.new(RECYCLED_FROM)) != place, "two are kept, and this is the oldest of three"


@pytest.mark.parametrize(
    "refer", [memoryview, np.asarray, lambda area: area[:1], lambda area: [area]]
)
def test_whatever_refers_to_memory_keeps_it(refer: Any) -> None:
    recycled = Recycled()
    area: Any = recycled.new(RECYCLED_FROM)
    place, referring = at(area), refer(area)
    del area
    assert at(recycled.new(RECYCLED_FROM)) != place
    del referring
    assert at(recycled.new(RECYCLED_FROM)) in {place, at(recycled.new(RECYCLED_FROM))}


def test_an_agent_that_keeps_one_array_at_a_time_needs_two_memories() -> None:
    recycled, kept, places = Recycled(), None, set()
    for _ in range(10):
        kept = recycled.new(RECYCLED_FROM)
        places.add(at(kept))
    assert len(places) == 2


def test_memory_of_another_size_is_not_used() -> None:
    recycled = Recycled()
    recycled.new(RECYCLED_FROM)
    assert len(recycled.new(RECYCLED_FROM + 1)) == RECYCLED_FROM + 1
    assert recycled.new(8) is not recycled.new(8)
