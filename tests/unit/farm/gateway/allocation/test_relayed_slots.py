"""A slot behind the gateway is used by one Make, in time, of the client for which it was allocated."""

from __future__ import annotations

import pytest

from envwire.codec import FaultError, Reason
from envwire.farm.gateway.allocation.allocating import Share
from envwire.farm.gateway.allocation.relayed_slots import RelayedSlots
from envwire.farm.gateway.registry.registry import HELD_SECONDS
from tests.unit.farm.gateway.registry.test_registry import Farm


class Scene:
    """The slots of one server, and a clock."""

    def __init__(self) -> None:
        self.now = 0.0
        self.member = Farm().add("a")
        self.slots = RelayedSlots(lambda: self.now)

    def keep(self, name: bytes, count: int = 1) -> None:
        self.slots.keep(Share(self.member, count, name), "alice")

    def refuses(self, name: bytes, principal: str = "alice") -> bool:
        with pytest.raises(FaultError) as caught:
            self.slots.take(name, principal)
        return caught.value.reason is Reason.CAPACITY_REACHED


@pytest.fixture
def scene() -> Scene:
    return Scene()


def test_each_slot_is_taken_once(scene: Scene) -> None:
    scene.keep(b"x", 2)
    runs = [scene.slots.take(b"x", "alice") for _ in range(2)]
    assert runs == [scene.member.incarnation] * 2
    assert scene.refuses(b"x")
    assert scene.refuses(b"y")


def test_others_take_none(scene: Scene) -> None:
    scene.keep(b"x")
    assert scene.refuses(b"x", "mallory")
    assert scene.slots.take(b"x", "alice")


def test_late_makes_take_none_and_nothing_grows(scene: Scene) -> None:
    for number in range(100):
        scene.keep(bytes([number]))
        scene.now += HELD_SECONDS / 4
    assert scene.refuses(bytes([96]))
    assert scene.slots.take(bytes([97]), "alice")
    assert len(scene.slots._kept) == 4
