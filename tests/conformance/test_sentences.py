"""Every sentence of docs/protocol.md that has an id is proved by a check of a server, or by a scenario of a client."""

from __future__ import annotations

from envwire.conformance.checks import CHECKS
from envwire.conformance.client import SCENARIOS
from tests.protocol_ids import IDS

PROVED = {sentence for one in (*CHECKS, *SCENARIOS) for sentence in one.proves}


def test_every_check_proves_sentences_that_there_are() -> None:
    assert {one.name for one in (*CHECKS, *SCENARIOS) if not one.proves} == set()
    assert sorted(PROVED - set(IDS)) == []


def test_every_sentence_is_proved() -> None:
    assert sorted(set(IDS) - PROVED) == [], "write a check that proves it"
