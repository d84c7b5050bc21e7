"""Digests of answers: equal for equal results over other transports, different for all other results."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from envwire.codec import FaultError, Reason, encode_fault, encode_mapping, encode_value
from envwire.codec.digests import CHECKPOINT, RollingDigest, digested
from envwire.codec.fastpath.step_responses import StepResponseWriter
from envwire.v1 import environment_pb2 as pb
from envwire.wire.frames import Area, Attachments

LARGE = np.arange(3 * 50 * 60, dtype=np.uint8).reshape(50, 60, 3)
Way = tuple[bytes, "Area | None"]


def digest(answer: bytes | None, area: Area | None = None) -> bytes:
    rolling = RollingDigest()
    rolling.add(answer, area)
    return rolling.value()


def built(result: Any, attach: bool = False, **more: Any) -> Way:
    """Returns an answer as a message of protobuf's, with what else is said in it."""
    reply, attachments = pb.InteractResponse(**more), Attachments() if attach else None
    observation, reward, terminated, truncated, info = result
    step = reply.step
    encode_value(observation, step.observation, attachments=attachments)
    step.reward, step.terminated, step.truncated = reward, terminated, truncated
    step.info.SetInParent()
    encode_mapping(info, step.info, opaque=True, attachments=attachments)
    return reply.SerializeToString(), _area(attachments)


def written(result: Any, attach: bool = False) -> Way:
    """Returns an answer as sessions usually write it."""
    attachments = Attachments() if attach else None
    raw = StepResponseWriter().write(result, attachments)
    assert raw
    return raw, _area(attachments)


def _area(attachments: Attachments | None) -> Area | None:
    if attachments is None or not attachments.length:
        return None
    return np.frombuffer(b"".join(attachments.buffers), np.uint8).copy()


@pytest.mark.parametrize("info", [{}, {"a": LARGE, "b": LARGE + 1}, {"f": len, "n": {"k": 1.0}}])
@pytest.mark.parametrize("observation", [np.zeros(4, np.float32), LARGE, 3, {"x": LARGE, "y": 1}])
def test_the_way_that_an_answer_came_does_not_count(observation: Any, info: dict[Any, Any]) -> None:
    result = observation, 1.0, False, True, info
    ways = [way(result, attach) for way in (built, written) for attach in (False, True)]
    assert len({digest(*way) for way in ways}) == 1


PLAIN = (np.zeros(4, np.float32), 1.0, False, False, {"a": 1})


@pytest.mark.parametrize(
    "other",
    [
        (np.zeros(4, np.float64), *PLAIN[1:]),
        (np.array([0, 0, 0, -0.0], np.float32), *PLAIN[1:]),
        (PLAIN[0], 1.5, *PLAIN[2:]),
        (PLAIN[0], 1.0, True, False, {"a": 1}),
        (PLAIN[0], 1.0, False, True, {"a": 1}),
        (*PLAIN[:4], {"a": 2}),
        (*PLAIN[:4], {"b": 1}),
        (*PLAIN[:4], {}),
    ],
    ids=repr,
)
def test_whatever_an_agent_sees_counts(other: Any) -> None:
    assert digest(*built(other)) != digest(*built(PLAIN))


def test_one_element_of_a_large_array_counts() -> None:
    changed = LARGE.copy()
    changed[-1, -1, -1] += 1
    one, other = (digest(*built((each, *PLAIN[1:]), attach=True)) for each in (LARGE, changed))
    assert one != other


def test_what_differs_between_two_runs_does_not_count() -> None:
    def answer(where: object, seconds: float, warn: bool, seed: int) -> bytes:
        reply = pb.InteractResponse()
        encode_mapping(
            {"where": where, "episode": {"r": 1.0, "t": seconds}}, reply.step.info, opaque=True
        )
        encode_value(seed, reply.step.random.np_random_seed)
        if warn:
            reply.step.warnings.add()
        return reply.SerializeToString()

    first, second = answer(object(), 0.1, True, 5), answer(object(), 0.2, False, -1)
    assert first != second
    assert digest(first) == digest(second)


def test_errors_count_by_their_reason() -> None:
    def error(reason: Reason, text: str) -> bytes:
        reply = pb.InteractResponse()
        encode_fault(FaultError(reason, text, traceback=[text]), reply.error)
        return reply.SerializeToString()

    raised = error(Reason.ENVIRONMENT_RAISED, "a")
    assert digest(raised) == digest(error(Reason.ENVIRONMENT_RAISED, "b"))
    assert digest(raised) != digest(error(Reason.RESET_NEEDED, "a"))


def test_checkpoints_and_copies() -> None:
    rolling = RollingDigest()
    for _ in range(CHECKPOINT):
        rolling.add(built(PLAIN)[0])
    assert rolling.checkpoints == [rolling.value()]
    twin = rolling.copy()
    twin.add(None)
    assert twin.value() == rolling.value()
    assert (twin.count, rolling.count) == (CHECKPOINT + 1, CHECKPOINT)
    rolling.add(built(PLAIN)[0])
    assert twin.value() != rolling.value()


def test_the_time_of_a_step_is_left_out() -> None:
    plain = pb.InteractResponse(step=pb.StepResponse(reward=1.0))
    timed = pb.InteractResponse(step=pb.StepResponse(reward=1.0))
    timed.step.time.begun_nanoseconds = 7
    assert digested(timed.SerializeToString()) == digested(plain.SerializeToString())
