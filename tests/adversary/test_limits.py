"""Documented limits, tested by a client that ignores them."""

from __future__ import annotations

import time

import pytest

from envwire.v1 import environment_pb2 as pb
from envwire.v1 import values_pb2
from tests.adversary.channel import DirectChannel
from tests.adversary.client import RefusedError
from tests.adversary.ledger import balanced, eventually, peak_within
from tests.adversary.messages import make_request, value
from tests.adversary.servers import PUBLIC, attacked

LARGE = "MESSAGE_TOO_LARGE"
SLEEPER, KEEPER = "adversary/Sleeper-v0", "adversary/Keeper-v0"
HOARDER, DESCRIPTORS = "adversary/Hoarder-v0", "adversary/Descriptors-v0"
#: What the front may take while it passes a request of 8 MiB on. It takes 31 to 40 MiB, and 232 MiB if it parses
#: four million entries, which it must not: nobody else is served meanwhile.
PASSED_ON_BYTES = 96 * 2**20


@pytest.mark.parametrize("env_id", [KEEPER, HOARDER])
def test_a_session_keeps_states_of_256_mib_and_no_more(env_id: str) -> None:
    with attacked(env_id) as target, target.attacker() as attacker:
        session = attacker.make(env_id)
        attacker.ask(session, "reset", 1).answer()
        states = [attacker.ask(session, "save_state", 2 + n).answer().state for n in range(6)]
        kept = attacker.ask(session, "restore_state", 8, state=states[-1]).verdict()
        gone = attacker.ask(session, "restore_state", 9, state=states[0]).verdict()
        assert [kept, gone] == ["answered", "INVALID_VALUE"]


def test_an_environment_does_not_keep_its_session_by_saying_that_it_is_connected() -> None:
    with attacked(DESCRIPTORS) as target, target.attacker() as attacker:
        session = attacker.make(DESCRIPTORS, lease=1)
        attacker.ask(session, "reset", 1).answer()
        attacker.ask(session, "step", 2, action=value("scribble")).answer()
        assert eventually(lambda: attacker.info().active_sessions == 0)


def test_an_environment_does_not_keep_its_session_when_its_client_has_left() -> None:
    with attacked(DESCRIPTORS) as target, balanced(target), target.attacker() as attacker:
        session = attacker.make(DESCRIPTORS, lease=1)
        with DirectChannel(session) as channel:
            assert channel.ask("reset", 1).HasField("reset")
            assert channel.ask("step", 2, action=value("scribble")).HasField("step")
            time.sleep(3)  # the lease and more: who is there keeps the session
            assert attacker.info().active_sessions == 1
        assert eventually(lambda: attacker.info().active_sessions == 0)


def test_a_public_server_imports_no_library_and_opens_no_window_for_a_client() -> None:
    with attacked(SLEEPER, **PUBLIC) as target, target.attacker() as attacker:
        asked = {
            "NumpyToTorch": make_request(SLEEPER, wrappers=("NumpyToTorch",)),
            "human": make_request(SLEEPER, render_mode="human"),
        }
        answers = {name: attacker.begin("Make", each).verdict() for name, each in asked.items()}
        assert answers["NumpyToTorch"] == "WRAPPER_NOT_ALLOWED"
        assert answers["human"] not in {"answered", "ENVIRONMENT_RAISED"}
        assert target.traces() == []


@pytest.mark.parametrize(
    ("first", "verdict", "served"), [("header", "INVALID_VALUE", 1), ("rest", LARGE, 0)]
)
def test_a_large_request_is_for_its_session_to_parse(first: str, verdict: str, served: int) -> None:
    """8 MiB of options without names: the front reads the header where it stands first, and nothing else."""
    entry = values_pb2.ValueMap(entries=[values_pb2.ValueEntry()]).SerializeToString()
    options = values_pb2.ValueMap.FromString(entry * (8 * 2**20 // len(entry)))
    with (
        attacked(SLEEPER) as target,
        balanced(target),
        peak_within(target, PASSED_ON_BYTES),
        target.attacker() as attacker,
    ):
        session = attacker.make(SLEEPER)
        header = pb.ResetRequest(header=session.owner).SerializeToString()
        rest = pb.ResetRequest(sequence=1, options=options).SerializeToString()
        call = attacker.begin("Reset", header + rest if first == "header" else rest + header)
        with target.attacker() as visitor:
            assert visitor.healthy()
        assert call.verdict() == verdict
        attacker.ask(session, "close", served + 1).answer()


def test_an_action_of_5000_digits_is_an_invalid_action() -> None:
    huge = 10**5000
    action = values_pb2.Value(big_int_value=huge.to_bytes(huge.bit_length() // 8 + 1, "little"))
    with attacked("CartPole-v1") as target, target.attacker() as attacker:
        session = attacker.make("CartPole-v1")
        attacker.ask(session, "reset", 1).answer()
        with pytest.raises(RefusedError) as refused:
            attacker.ask(session, "step", 2, action=action).answer()
        assert refused.value.reason == "INVALID_ACTION"
