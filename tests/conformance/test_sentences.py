"""Which sentences of docs/protocol.md the suite proves. The list of the others may only shrink."""

from __future__ import annotations

from pathlib import Path

from envwire.conformance.checks import CHECKS
from envwire.conformance.client import SCENARIOS
from tests.protocol_ids import IDS

UNPROVED = [
    line.partition("#")[0].strip()
    for line in (Path(__file__).parent / "unproved.txt").read_text("utf-8").splitlines()
    if line and not line.startswith("#")
]
PROVED = {sentence for one in (*CHECKS, *SCENARIOS) for sentence in one.proves}


def test_every_check_proves_sentences_that_there_are() -> None:
    assert {check.name for check in CHECKS if not check.proves} == set()
    assert PROVED - set(IDS) == set()


def test_every_other_sentence_is_listed_with_its_reason() -> None:
    assert sorted(set(IDS) - PROVED - set(UNPROVED)) == [], "write a check that proves it"
    assert sorted(set(UNPROVED) & PROVED) == [], "a check proves it now: take it off the list"
    assert sorted(set(UNPROVED) - set(IDS)) == []


def test_the_list_only_shrinks() -> None:
    assert len(UNPROVED) <= 8
