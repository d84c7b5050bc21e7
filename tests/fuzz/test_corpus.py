"""Replays the corpus of fuzzing, and sends a few new inputs, to every reader and to a running server."""

from __future__ import annotations

import pytest

from envwire.v1 import environment_pb2 as pb
from tests.fuzz.fuzz import load, throw
from tests.fuzz.live import ATTACKS, under_attack
from tests.fuzz.strategies import attacks
from tests.fuzz.targets import TARGETS
from tests.tiers import first

pytestmark = pytest.mark.filterwarnings("ignore")  # what is read may well warn
_SEED = 1
#: Inputs to each target.
_COUNTS = first([5, 25])


@pytest.mark.parametrize("name", TARGETS)
def test_what_was_found_is_read_or_refused(name: str) -> None:
    kept = load(name)
    assert kept, "make fuzz keeps what it finds"
    ends = {TARGETS[name](raw) for raw in kept}
    assert len(ends) >= len(kept) / 2, "each is there for an end of its own"


@pytest.mark.parametrize("count", _COUNTS)
@pytest.mark.parametrize("name", TARGETS)
def test_whatever_comes_is_read_or_refused(name: str, count: int) -> None:
    target = TARGETS[name]
    throw(attacks(target.message), target, count, _SEED)


@pytest.mark.parametrize("count", _COUNTS)
def test_a_running_server_survives_and_nobody_notices(count: int) -> None:
    with under_attack() as live:
        for attack in ATTACKS.values():

            def strike(raw: bytes, attack: object = attack) -> None:
                assert callable(attack)
                attack(live, raw)
                live.look()

            throw(attacks(pb.InteractRequest), strike, count, _SEED)
