"""Vectors of requests, answers, notices and errors."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from google.protobuf.message import Message

from envwire.codec import FaultError, Reason, RemoteExceptionInfo, encode_fault, encode_space
from envwire.codec.errors.statuses import draining_notice
from envwire.envs import spaces
from envwire.v1 import direct_pb2, status_pb2
from envwire.v1 import environment_pb2 as pb
from envwire.v1.values_pb2 import Value
from tests.vectors.values import encoded
from tests.vectors.vector import UNKNOWN_FIELD, described

HEADER = pb.SessionHeader(session_id="0123456789abcdef" * 2, secret=bytes(range(16)))


def vectors() -> Iterator[dict[str, Any]]:
    """Yields all vectors of messages."""
    for name, meaning, message in (*_requests(), *_answers(), *_hellos()):
        yield described(name, meaning, message)
    step = pb.InteractRequest(step=pb.StepRequest(sequence=2, action=Value(int_value=1)))
    raw = step.SerializeToString()
    yield described(
        "request with an unknown field", "It is passed over.", step, raw + UNKNOWN_FIELD
    )


def _requests() -> Iterator[tuple[str, str, Message]]:
    chunk = pb.StepRequest(header=HEADER, sequence=2, actions=[Value(int_value=n) for n in (1, 0)])
    yield "chunk", "Two actions under one number.", pb.InteractRequest(step=chunk)
    ahead = pb.StepRequest(header=HEADER, sequence=4, action=Value(int_value=1), ahead=2)
    meaning = "A step that was sent while two requests before it were unanswered."
    yield "step ahead", meaning, pb.InteractRequest(step=ahead)
    timed = pb.StepRequest(header=HEADER, sequence=2, action=Value(int_value=1), report_time=True)
    yield "timed step", "It asks when it is taken.", pb.InteractRequest(step=timed)
    vector = pb.VectorRequest(num_envs=3, autoreset_mode="SAME_STEP")
    make = pb.MakeRequest(env_id="CartPole-v1", vector=vector, request_id=bytes(range(16)))
    make.lease.FromMilliseconds(1500)
    yield "make a vector", "With a lease of 1.5 s and a request_id.", make
    yield "copy", "A copy of a session.", pb.MakeRequest(copy_of=HEADER)
    masked = pb.ResetRequest(header=HEADER, sequence=2)
    masked.options.entries.add(name="reset_mask", value=encoded(np.array([True, False])))
    yield "masked reset", "Of two members the first is reset.", masked
    recorded = pb.InteractRequest(reset=pb.ResetRequest(seed=Value(int_value=1)))
    replay = pb.ReplayRequest(
        header=HEADER, sequence=1, requests=[recorded.SerializeToString()], unseen=[0]
    )
    yield "replay", "One recorded request, whose answer nobody saw.", replay


def _answers() -> Iterator[tuple[str, str, Message]]:
    plain = pb.StepResponse(observation=Value(int_value=1), reward=1.0)
    plain.info.SetInParent()
    yield "plain step", "Nothing is typed.", pb.InteractResponse(step=plain)
    typed = pb.StepResponse(observation=Value(int_value=1), reward=float("nan"), terminated=True)
    typed.typed_reward.CopyFrom(encoded(None))
    typed.typed_terminated.CopyFrom(encoded(np.bool_(True)))
    typed.warnings.add(category="UserWarning", text="slippery")
    yield "typed step", "A reward that is None, a NumPy boolean, and a warning.", typed
    chunk = pb.StepResponse(steps=[plain])
    _fail(FaultError(Reason.INVALID_ACTION, "action 7"), chunk.error)
    yield "half a chunk", "One step was taken; the next action failed.", chunk
    not_taken = pb.StepResponse(not_taken=True)
    meaning = "A step that was sent ahead, behind the end of an episode."
    yield "step not taken", meaning, pb.InteractResponse(step=not_taken)
    taken = pb.StepTime(begun_nanoseconds=2**40, ended_nanoseconds=2**40 + 20_000_000)
    timed = pb.StepResponse(observation=Value(int_value=1), reward=1.0, time=taken)
    timed.info.SetInParent()
    yield "step with its time", "It took 20 ms.", pb.InteractResponse(step=timed)
    yield "vector step", "Rewards and ends are arrays.", _vector_step()
    notified = pb.InteractResponse(step=plain, notices=[draining_notice(12.5)])
    yield "answer with a notice", "The server ends in 12.5 s.", notified
    later = status_pb2.Notice()
    later.ParseFromString(b"\x08\x63")
    yield "notice of an unknown kind", "It is passed over.", status_pb2.NoticeList(notices=[later])
    yield "vector info", "What Make tells of a vector.", _vector_info()


def _vector_step() -> pb.StepResponse:
    answer = pb.StepResponse(reward=float("nan"), observation=encoded(np.zeros((2, 1), np.float32)))
    answer.typed_reward.CopyFrom(encoded(np.array([0.0, 1.0])))
    answer.typed_terminated.CopyFrom(encoded(np.array([False, True])))
    answer.typed_truncated.CopyFrom(encoded(np.array([False, False])))
    answer.info.entries.add(name="score", value=encoded(np.array([0, 5])))
    answer.info.entries.add(name="_score", value=encoded(np.array([False, True])))
    return answer


def _vector_info() -> pb.VectorInfo:
    info = pb.VectorInfo(num_envs=3, autoreset_mode="NEXT_STEP")
    encode_space(spaces.Box(0, 1, (2,), np.float32), info.single_observation_space)
    encode_space(spaces.Discrete(2), info.single_action_space)
    return info


def _hellos() -> Iterator[tuple[str, str, Message]]:
    hello = direct_pb2.HelloRequest(make=direct_pb2.MakeHello(token="token"))
    yield "hello that makes", "The next frame holds a MakeRequest.", hello
    yield (
        "hello that makes, without a token",
        "The same.",
        direct_pb2.HelloRequest(make=direct_pb2.MakeHello()),
    )
    made = pb.MakeResponse(session_id=HEADER.session_id, secret=HEADER.secret, library="envwire")
    yield "made", "A welcome follows in a frame of its own.", direct_pb2.HelloResponse(made=made)


def _fail(error: FaultError, status: status_pb2.ErrorStatus) -> status_pb2.ErrorStatus:
    encode_fault(error, status)
    return status


def error_vectors() -> Iterator[dict[str, Any]]:
    """Yields an error for each reason, and one with all details."""
    for reason in Reason:
        error = FaultError(reason, f"a text of {reason.value}", metadata={"session_id": "s"})
        meaning = "One reason with its status."
        yield described(reason.value, meaning, _fail(error, status_pb2.ErrorStatus()))
    error = FaultError(
        Reason.ENVIRONMENT_RAISED,
        "The environment raised ValueError: no",
        output="the last words\n",
        traceback=["Traceback (most recent call last):", '  File "env.py", line 1, in step'],
        retry_after=1.5,
        exception=RemoteExceptionInfo("builtins.ValueError", "no", ("no", 7)),
    )
    status = _fail(error, status_pb2.ErrorStatus())
    yield described("all details", "Reason, traceback, output, time to wait, exception.", status)
