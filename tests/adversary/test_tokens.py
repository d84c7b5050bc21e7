"""The token file may be written in any way that editors use; removed tokens lose all access."""

from __future__ import annotations

import time

import pytest

from tests.adversary.channel import DirectChannel
from tests.adversary.client import verdict
from tests.adversary.ledger import eventually
from tests.adversary.messages import value
from tests.adversary.servers import attacked
from tests.adversary.tokens import Tokens

SLEEPER = "adversary/Sleeper-v0"


@pytest.mark.parametrize("rewrites", [40, pytest.param(400, marks=pytest.mark.long)])
def test_a_file_that_is_written_in_place_ends_no_session(rewrites: int) -> None:
    with (
        Tokens("alice") as tokens,
        attacked(SLEEPER, tokens=tokens) as target,
        target.attacker(token=tokens["alice"]) as alice,
    ):
        session = alice.make(SLEEPER)
        alice.ask(session, "reset", 1).answer()
        for number in range(rewrites):
            with tokens.path.open("w") as file:  # empty now
                time.sleep(0.02)  # a slow disk, a slow editor
                file.write(tokens.text())
            assert alice.ask(session, "step", 2 + number, action=value(0)).verdict() == "answered"


def test_a_scope_that_is_taken_away_reaches_open_channels() -> None:
    with (
        Tokens("alice") as tokens,
        attacked(SLEEPER, tokens=tokens) as target,
        target.attacker(token=tokens["alice"]) as alice,
    ):
        session = alice.make(SLEEPER)
        with DirectChannel(session) as channel:
            assert verdict(channel.ask("reset", 1)) == "reset"
            tokens.allow("alice", "observe")
            assert eventually(lambda: alice.ask(session, "reset", 1).verdict() == "SCOPE_MISSING")
            sequence = iter(range(2, 10_000))

            def refused() -> bool:
                try:
                    answer = verdict(channel.ask("step", next(sequence), action=value(0)))
                except ConnectionError:
                    return True
                return answer != "step"

            assert eventually(refused)


def test_a_scope_that_is_taken_away_reaches_open_streams() -> None:
    with (
        Tokens("alice") as tokens,
        attacked(SLEEPER, tokens=tokens) as target,
        target.attacker(token=tokens["alice"]) as alice,
        alice.stream() as stream,
    ):
        session = alice.make(SLEEPER)
        assert verdict(stream.say(session.request("reset", 1))) == "reset"
        tokens.allow("alice", "observe")
        again = session.request("reset", 1)
        assert eventually(lambda: verdict(stream.say(again)) != "reset")
