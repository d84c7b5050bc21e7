"""A chunk of actions in one request: the steps taken, the answer, and the stored answer."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import envwire.envs as gym
from envwire.codec import encode_value, envwire_family
from envwire.server._session import chunks
from envwire.server._session.session import Session
from envwire.server._session.states import State
from envwire.v1 import environment_pb2 as pb


class Counting(gym.Env[Any, Any]):
    """Ends at step 5; shows the same array each time, as fast simulators do; raises at action 9."""

    observation_space = gym.spaces.Box(0, 100, (2000,), np.float64)
    action_space = gym.spaces.Discrete(10)

    def __init__(self) -> None:
        self.steps = 0
        self._buffer = np.zeros(2000)

    def step(self, action: Any) -> Any:
        if action == 9:
            raise ValueError("nine")
        self.steps += 1
        self._buffer[:] = self.steps
        return self._buffer, 1.0, self.steps >= 5, False, {}


@pytest.fixture
def env() -> Counting:
    return Counting()


@pytest.fixture
def session(env: Counting) -> Session:
    return Session(env, envwire_family())


def chunk(sequence: int, *actions: int) -> bytes:
    request = pb.InteractRequest(step=pb.StepRequest(sequence=sequence))
    for action in actions:
        encode_value(action, request.step.actions.add())
    return request.SerializeToString()


def ask(session: Session, raw: bytes) -> pb.InteractResponse:
    packet = session.handle(raw, True)
    assert packet.attachments is None or not packet.attachments.length
    return pb.InteractResponse.FromString(packet.message)


def test_observations_are_those_of_their_steps_though_the_array_is_one(session: Session) -> None:
    steps = ask(session, chunk(1, 0, 0, 0)).step.steps
    assert [np.frombuffer(step.observation.array.data)[0] for step in steps] == [1, 2, 3]


def test_a_repeated_chunk_is_answered_and_not_taken_again(session: Session, env: Counting) -> None:
    first = ask(session, chunk(1, 0, 0))
    assert ask(session, chunk(1, 0, 0)) == first
    assert env.steps == 2
    assert "SEQUENCE_REUSED" in str(ask(session, chunk(1, 0, 0, 0)).error)
    assert len(ask(session, chunk(2, 0)).step.steps) == 1


def test_the_episode_ends_the_chunk(session: Session, env: Counting) -> None:
    answer = ask(session, chunk(1, *[0] * 20)).step
    assert len(answer.steps) == env.steps == 5
    assert session.state is State.ENDED


def test_a_failure_ends_the_chunk_and_is_told_behind_the_steps(
    session: Session, env: Counting
) -> None:
    answer = ask(session, chunk(1, 0, 9, 0)).step
    assert len(answer.steps) == env.steps == 1
    assert "nine" in answer.error.message
    assert "nine" in ask(session, chunk(2, 9, 0)).error.message


def test_too_many_actions_are_refused_before_any_is_taken(session: Session, env: Counting) -> None:
    assert "INVALID_VALUE" in str(ask(session, chunk(1, *[0] * 1025)).error)
    both = pb.InteractRequest.FromString(chunk(2, 0))
    both.step.action.int_value = 0
    assert "INVALID_VALUE" in str(ask(session, both.SerializeToString()).error)
    assert env.steps == 0


def test_a_large_answer_is_cut_and_a_recorded_chunk_is_not(
    session: Session, env: Counting, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chunks, "PART_BYTES", 20_000)
    assert len(ask(session, chunk(1, 0, 0, 0, 0)).step.steps) == 2
    request = pb.InteractRequest(replay=pb.ReplayRequest(sequence=2, requests=[chunk(0, 0, 0, 0)]))
    assert ask(session, request.SerializeToString()).replay.served == 1
    assert env.steps == 5


def test_an_action_that_cannot_be_read_fails_behind_the_steps_before_it(
    session: Session, env: Counting
) -> None:
    request = pb.InteractRequest.FromString(chunk(1, 0, 0, 0))
    request.step.actions[1].Clear()
    answer = ask(session, request.SerializeToString()).step
    assert len(answer.steps) == env.steps == 1
    assert "INVALID_VALUE" in str(answer.error)
    request.step.sequence = 2
    request.step.actions[0].Clear()
    assert "INVALID_VALUE" in str(ask(session, request.SerializeToString()).error)
    assert env.steps == 1


def test_a_step_that_does_not_fit_costs_those_before_it_nothing(env: Counting) -> None:
    session = Session(env, envwire_family(), max_message_bytes=40_000)
    answer = ask(session, chunk(1, 0, 0, 0, 0)).step
    assert len(answer.steps) == 2
    assert env.steps == 3, "a step of 16,000 bytes was taken, and only its answer is missing"
    assert "MESSAGE_TOO_LARGE" in str(answer.error)
