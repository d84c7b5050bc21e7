"""Vectors of digests: answers, and the digest after them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from envwire.codec import FaultError, Reason, encode_fault
from envwire.codec.digests import RollingDigest
from envwire.v1 import environment_pb2 as pb
from envwire.v1.values_pb2 import Value
from tests.vectors.values import encoded


def _step(observation: Value) -> pb.InteractResponse:
    response = pb.InteractResponse(step=pb.StepResponse(observation=observation, reward=1.0))
    response.step.info.SetInParent()
    return response


def _warned() -> pb.InteractResponse:
    response = _step(Value(int_value=1))
    response.step.warnings.add(category="UserWarning", text="slippery")
    response.step.info.entries.add(name="episode", value=Value(float_value=0.25))
    return response


def _odd() -> pb.InteractResponse:
    response = _step(Value(int_value=1))
    opaque = response.step.info.entries.add(name="it").value.opaque
    opaque.type_name, opaque.text = "a.B", "<B at 0x7f00>"
    return response


def _failed() -> pb.InteractResponse:
    response = pb.InteractResponse()
    encode_fault(FaultError(Reason.INVALID_ACTION, "any text"), response.error)
    return response


LARGE = encoded((np.arange(4096) % 251).astype(np.uint8))
#: What answers are digested, by what they show. None is one that nobody saw.
ANSWERS: dict[str, list[pb.InteractResponse | None]] = {
    "nothing": [],
    "one step": [_step(Value(int_value=1))],
    "two steps": [_step(Value(int_value=1)), _step(Value(int_value=2))],
    "warnings and times are left out": [_warned()],
    "the text of an opaque value is left out": [_odd()],
    "an error is its reason": [_failed(), _step(Value(int_value=1))],
    "the elements of a large tensor follow": [_step(LARGE)],
    "an answer that nobody saw": [None, _step(Value(int_value=1))],
}


def vectors() -> Iterator[dict[str, Any]]:
    """Yields all vectors of digests."""
    for name, answers in ANSWERS.items():
        digest = RollingDigest()
        raw = [
            None if one is None else one.SerializeToString(deterministic=True) for one in answers
        ]
        for one in raw:
            digest.add(one)
        shown = [None if one is None else one.hex() for one in raw]
        yield {"name": name, "answers": shown, "digest": digest.value().hex()}
