"""Slots reserved for an allocation: no other client gets them, and they are released after a timeout."""

from __future__ import annotations

import pytest

from envwire.codec import FaultError
from envwire.server._front.sessions.slots import LAPSED_SECONDS, MAX_SECONDS
from envwire.server._front.sessions.table import Sessions

A, B = b"a" * 16, b"b" * 16


class Scene:
    """Four slots, and a clock that the test moves."""

    def __init__(self) -> None:
        self.now = 0.0
        self.freed = 0
        self.sessions = Sessions(4, lambda: self.now, "test")
        self.sessions.on_free = self._count

    def _count(self) -> None:
        self.freed += 1

    def take(self, reservation: bytes = b"") -> bool:
        try:
            self.sessions.reserve("alice", reservation)
        except FaultError:
            return False
        return True

    def wait(self, seconds: float) -> None:
        self.now += seconds
        self.sessions.sweep()


@pytest.fixture
def scene() -> Scene:
    return Scene()


def test_kept_slots_are_for_those_who_name_them(scene: Scene) -> None:
    assert scene.sessions.reserve_slots(A, 3, 5.0)
    assert [scene.take() for _ in range(2)] == [True, False]
    assert [scene.take(A) for _ in range(4)] == [True, True, True, False]
    assert len(scene.sessions) == 4


def test_all_slots_or_none(scene: Scene) -> None:
    assert not scene.sessions.reserve_slots(A, 5, 5.0)
    assert scene.sessions.reserve_slots(A, 3, 5.0)
    assert not scene.sessions.reserve_slots(B, 2, 5.0)
    assert scene.sessions.reserve_slots(B, 1, 5.0)
    assert scene.sessions.full


@pytest.mark.parametrize("count", [0, -1])
def test_nothing_is_no_reservation(scene: Scene, count: int) -> None:
    assert not scene.sessions.reserve_slots(A, count, 5.0)


def test_a_reservation_of_nothing_for_a_client_is_one_that_gets_no_slot(scene: Scene) -> None:
    assert scene.sessions.reserve_slots(A, 0, 5.0, "token alice")
    with pytest.raises(FaultError, match="not used in time"):
        scene.sessions.reservations.check_lapsed(A)
    scene.sessions.reservations.check_lapsed(B)
    assert scene.sessions.reserve_slots(A, 1, 5.0, "token alice"), (
        "a stream names its next one as well"
    )
    scene.sessions.reservations.check_lapsed(A)
    scene.sessions.reserve_slots(B, 0, 5.0, "token alice")
    scene.wait(LAPSED_SECONDS)
    scene.sessions.reservations.check_lapsed(B)


def test_a_name_is_used_once(scene: Scene) -> None:
    assert scene.sessions.reserve_slots(A, 1, 5.0)
    assert not scene.sessions.reserve_slots(A, 1, 5.0)


def test_slots_that_nobody_takes_are_free_after_their_time(scene: Scene) -> None:
    scene.sessions.reserve_slots(A, 4, 5.0)
    scene.take(A)
    scene.wait(4.9)
    assert (scene.freed, scene.take()) == (0, False)
    scene.wait(0.1)
    assert (scene.freed, scene.take(A), scene.sessions.reservations.slots) == (1, True, 0)


def test_a_commit_keeps_them_longer_and_not_for_ever(scene: Scene) -> None:
    scene.sessions.reserve_slots(A, 4, 2.0)
    scene.sessions.reservations.extend(A, 1e9)
    scene.wait(MAX_SECONDS - 1.0)
    assert not scene.take()
    scene.wait(1.0)
    assert scene.take()


def test_what_is_released_is_free(scene: Scene) -> None:
    scene.sessions.reserve_slots(A, 4, 5.0)
    scene.take(A)
    assert scene.sessions.reservations.release(A)
    assert not scene.sessions.reservations.release(A)
    assert [scene.take() for _ in range(4)] == [True, True, True, False]


def test_slots_that_counted_for_a_client_and_were_given_back_are_refused(scene: Scene) -> None:
    kept = scene.sessions.reservations
    assert scene.sessions.reserve_slots(A, 2, 5.0, "token alice")
    assert scene.sessions.reserve_slots(B, 1, 5.0)
    scene.sessions.reserve("token alice", A)
    kept.check_lapsed(A)
    scene.wait(5.0)
    kept.check_lapsed(B)
    with pytest.raises(FaultError, match="was not used in time"):
        kept.check_lapsed(A)


def test_a_name_that_slots_are_kept_under_again_has_not_lapsed(scene: Scene) -> None:
    for _ in range(2):
        assert scene.sessions.reserve_slots(A, 1, 5.0, "token alice")
        scene.sessions.reservations.check_lapsed(A)
        scene.wait(5.0)
    scene.wait(LAPSED_SECONDS)
    scene.sessions.reservations.check_lapsed(A)


def test_a_name_that_lapses_again_keeps_no_other_from_being_forgotten(scene: Scene) -> None:
    kept = scene.sessions.reservations
    for name in (A, B, A):
        scene.sessions.reserve_slots(name, 0, 5.0, "token alice")
        scene.wait(1.0)
    scene.wait(LAPSED_SECONDS - 1.5)
    kept.check_lapsed(B)
    with pytest.raises(FaultError, match="not used in time"):
        kept.check_lapsed(A)
