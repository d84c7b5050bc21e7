"""Each step is taken exactly once, in order, with any loss, delay or duplication of messages.

Every short story of three requests is told, and long ones at random; what was taken is compared with what was answered
and with what was recorded.
"""

from __future__ import annotations

import contextlib
import itertools
from typing import Any

import numpy as np
import pytest

import envwire.envs as gym
from envwire.client._session.client_session import ClientSession
from envwire.client._session.operations import Close, Replay, Reset, Step
from envwire.client._session.recording import Recording
from envwire.client._session.states import (
    TRANSITIONS,
    Move,
    ProtocolError,
    Refused,
    SendAgain,
    State,
    moved,
)
from envwire.client.errors import RemoteError, SessionError
from envwire.codec import FaultError, Reason, encode_fault, envwire_family
from envwire.envs import spaces
from envwire.v1 import environment_pb2 as pb
from envwire.v1 import spaces_pb2
from tests.unit.client.session.link import Fate, Link, TimeIsUpError


class Ledger(gym.Env[int, int]):
    """Writes down the actions that were taken, and answers each with its own number."""

    def __init__(self) -> None:
        self.observation_space = spaces.Discrete(2**31)
        self.action_space = spaces.Discrete(2**31)
        self.taken: list[int] = []

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[int, dict[str, Any]]:
        super().reset(seed=seed)
        return 0, {}

    def step(self, action: int) -> tuple[int, float, bool, bool, dict[str, Any]]:
        self.taken.append(int(action))
        return int(action), 0.0, False, False, {}


class Story:
    """A client that takes numbered steps, and their answers."""

    def __init__(self) -> None:
        self.env = Ledger()
        self.recording = Recording(10_000)
        self.link = Link(self.env, self.recording)
        self.link.ask(Reset(seed=1))
        self.answered: list[int] = []
        self.asked = 0

    def step(self, *fates: Fate) -> None:
        self.asked += 1
        with contextlib.suppress(TimeIsUpError):
            (observation, *_), _ = self.link.ask(Step(self.asked), fates)
            assert observation == self.asked, "an answer belongs to its own request"
            self.answered.append(self.asked)

    def check(self) -> None:
        taken = self.env.taken
        assert taken == list(range(1, self.asked + 1)), "each once, in order"

    def replayed(self) -> list[int]:
        """Returns what another environment takes when the recording is replayed to it."""
        env, (log,) = Ledger(), self.recording.logs()
        part = pb.ReplayRequest()
        log.part(0, part)
        log.check(0, Link(env).ask(Replay(part)))
        return env.taken


def test_every_short_story() -> None:
    for fates in itertools.product(Fate, repeat=3):
        for late in range(4):
            story = Story()
            for turn, fate in enumerate(fates):
                if turn == late:
                    story.link.release()
                story.step(fate)
            story.step()
            story.link.release()
            story.step()
            story.check()
            assert story.answered[-2:] == [4, 5]


@pytest.mark.parametrize("seed", range(30))
def test_long_stories(seed: int) -> None:
    random = np.random.default_rng(seed)
    story, every = Story(), list(Fate)
    for _ in range(200):
        fates = [every[index] for index in random.integers(len(every), size=random.integers(4))]
        if random.random() < 0.2:
            story.link.release()
        story.step(*fates)
    story.step()
    story.check()
    assert story.answered[-1] == story.asked


@pytest.mark.parametrize("seed", range(10))
def test_what_nobody_saw_is_recorded_as_well(seed: int) -> None:
    random = np.random.default_rng(seed)
    story, every = Story(), list(Fate)
    for _ in range(100):
        fates = [every[index] for index in random.integers(len(every), size=random.integers(4))]
        story.step(*fates)
    story.step()
    assert story.replayed() == story.env.taken


def test_the_table_knows_only_these_moves() -> None:
    live = [state for state in State if state is not State.ENDED]
    assert all(TRANSITIONS[state, Move.END] is State.ENDED for state in live)
    assert [state for state in State if (state, Move.REQUEST) in TRANSITIONS] == [State.READY]
    for state, move in itertools.product(State, Move):
        if (state, move) not in TRANSITIONS:
            with pytest.raises(ProtocolError, match=state.name):
                moved(state, move)


def test_a_second_request_while_one_is_pending_is_a_fault_of_ours() -> None:
    link = Link(Ledger())
    link.client.next_request(Step(1))
    with pytest.raises(ProtocolError, match="AWAITING"):
        link.client.next_request(Step(2))


def test_a_request_that_cannot_be_written_uses_no_number() -> None:
    link = Link(Ledger())
    with pytest.raises(ValueError, match="action"):
        link.client.next_request(Step(object()))
    link.ask(Reset())
    assert link.client.sequence == 1


def test_a_step_takes_along_the_state_of_a_generator_and_asks_for_it() -> None:
    link, state = Link(Ledger()), spaces_pb2.RandomState(bit_generator="PCG64")
    sent = pb.InteractRequest.FromString(link.client.next_request(Step(1, state, mirror=True)))
    assert (sent.step.np_random, sent.step.mirror_np_random) == (state, True)
    for operation in (Step(1, state), Step(1, mirror=True), Step(1)):
        link.client.rollback_unsent()
        sent = pb.InteractRequest.FromString(link.client.next_request(operation))
        assert sent.step.HasField("np_random") is (operation.random_state is not None)
        assert sent.step.mirror_np_random is operation.mirror


@pytest.mark.parametrize("served", [False, True])
def test_what_is_taken_back_may_have_been_served(served: bool) -> None:
    story = Story()
    request = story.link.client.next_request(Step(1))
    if served:
        story.link.server.handle(request)
    story.link.client.rollback_unsent()
    story.link.ask(Step(2))
    story.link.ask(Step(3))
    assert story.env.taken == ([1] if served else []) + [2, 3]
    assert story.replayed() == story.env.taken


@pytest.mark.parametrize("reason", [Reason.SEQUENCE_GAP, Reason.SEQUENCE_REUSED])
def test_a_server_that_refuses_every_number_is_not_asked_for_ever(reason: Reason) -> None:
    link, refusal = Link(Ledger()), pb.InteractResponse()
    encode_fault(FaultError(reason, "another number"), refusal.error)
    link.client.next_request(Reset(None, None))
    for _ in range(10):
        event = link.client.receive(refusal.SerializeToString())
        if not isinstance(event, SendAgain):
            break
    assert isinstance(event, Refused)
    assert isinstance(event.error, SessionError)
    assert event.error.reason == reason.value
    assert link.client.closable


def test_a_request_is_sent_again_under_the_number_that_the_server_expects() -> None:
    link, refusal = Link(Ledger()), pb.InteractResponse()
    fault = FaultError(Reason.SEQUENCE_GAP, "another number", metadata={"expected": "7"})
    encode_fault(fault, refusal.error)
    link.client.next_request(Step(1))
    event = link.client.receive(refusal.SerializeToString())
    assert isinstance(event, SendAgain)
    assert pb.InteractRequest.FromString(event.request).step.sequence == 7
    assert link.client.sequence == 7


def test_a_session_that_is_closed_is_ended() -> None:
    link = Link(Ledger())
    link.ask(Close(), [Fate.CUT_AFTER])
    assert link.client.state is State.ENDED
    with pytest.raises(ProtocolError):
        link.client.next_request(Step(1))


def test_a_close_is_repeated_once() -> None:
    link = Link(Ledger())
    with pytest.raises(TimeIsUpError):
        link.ask(Close(), [Fate.CUT_BEFORE, Fate.CUT_BEFORE])


def test_a_session_is_not_asked_before_it_is_made() -> None:
    session = ClientSession(envwire_family(), 1.0)
    with pytest.raises(ProtocolError):
        session.next_request(Step(1))


BROKEN = {
    "no message": b"\x22\x05\x0a",
    "no value": pb.InteractResponse(step=pb.StepResponse()).SerializeToString(),
    "an answer to another request": pb.InteractResponse(
        close=pb.CloseResponse()
    ).SerializeToString(),
    "one of two kinds": b"\x22\x00"
    + pb.InteractResponse(close=pb.CloseResponse()).SerializeToString(),
}


@pytest.mark.parametrize("what", BROKEN)
def test_an_answer_that_breaks_the_protocol_is_a_remote_error_and_the_session_goes_on(
    what: str,
) -> None:
    link = Link(Ledger())
    link.client.next_request(Step(1))
    with pytest.raises(RemoteError, match="breaks the protocol: "):
        link.client.receive(BROKEN[what])
    assert not link.client.pending
