"""Results of steps as messages, and the step codec that builds a message for each step."""

from __future__ import annotations

import math
from typing import Any, Final, TypeAlias

import numpy as np
from google.protobuf.message import DecodeError, Message

from envwire.codec.errors.codec_error import CodecError, located
from envwire.codec.family import Family
from envwire.codec.values.encoding import decode_mapping, decode_value, encode_mapping, encode_value
from envwire.codec.values.foreign import native
from envwire.codec.values.tensors import FillAllowance
from envwire.v1 import environment_pb2
from envwire.wire.frames import Area, Attachments

StepResult: TypeAlias = tuple[Any, Any, Any, Any, dict[Any, Any]]
"""The result of `Env.step`."""

PlainStep: TypeAlias = tuple[int, Any]
"""A step without optional fields: its sequence number, and its action or batch of actions."""

_ASKED: Final = frozenset({"sequence", "action"})
_TOLD_BESIDES: Final = frozenset({"warnings", "random", "steps", "error"})


class StepCodec:
    """Encodes and decodes the steps of one session, at one of its ends, with a message for each step.

    Step codecs are compatible: each reads what another wrote, to the same values of the same types. They may keep
    state from step to step, so each end of a session has its own. Messages other than a plain step or a plain answer
    are left to the caller: a request with a generator's state or a chunk of actions, an answer with warnings, an error.

    Args:
        family: Classes to build values of.
        vector: Whether the steps return batches.
    """

    def __init__(self, family: Family, *, vector: bool = False) -> None:
        self._family = family
        self._vector = vector

    def encode_request(self, sequence: int, action: Any) -> bytes:
        """Returns the InteractRequest of a plain step, without a header.

        Raises:
            CodecError: The action has no wire form.
        """
        request = environment_pb2.InteractRequest()
        request.step.sequence = sequence
        encode_value(action, request.step.action, "action")
        return request.SerializeToString()

    def decode_request(self, raw: bytes) -> PlainStep | None:
        """Reads an InteractRequest; None if it is not a plain step, or its action cannot be read."""
        try:
            request = environment_pb2.InteractRequest.FromString(raw)
            step = request.step
            if _set_fields(request) != ["step"] or not _ASKED.issuperset(_set_fields(step)):
                return None
            action = decode_value(step.action, self._family, "action", opaque=False)
        except (CodecError, DecodeError):  # the caller decodes it again and reports what is wrong
            return None
        return step.sequence, action

    def encode_response(self, result: StepResult, attachments: Attachments | None = None) -> bytes:
        """Returns the InteractResponse of a step.

        Args:
            result: What the environment returned.
            attachments: Empty; receives large arrays, which are the environment's own, not copies.

        Raises:
            CodecError: The observation, the reward, a flag, or a key of the info has no wire form.
        """
        response = environment_pb2.InteractResponse()
        write_step(result, response.step, attachments, vector=self._vector)
        return response.SerializeToString()

    def decode_response(self, raw: bytes, area: Area | None = None) -> StepResult | None:
        """Reads an InteractResponse; None if it is not a plain answer to a step.

        Args:
            raw: The answer.
            area: Its attachments.

        Raises:
            CodecError: The answer breaks the contract.
        """
        try:
            response = environment_pb2.InteractResponse.FromString(raw)
        except DecodeError:
            return None
        step = response.step
        if _set_fields(response) != ["step"] or not _TOLD_BESIDES.isdisjoint(_set_fields(step)):
            return None
        return read_step(step, self._family, area)


def _set_fields(message: Message) -> list[str]:
    return [field.name for field, _ in message.ListFields()]


def write_step(
    result: StepResult,
    message: environment_pb2.StepResponse,
    attachments: Attachments | None = None,
    *,
    vector: bool = False,
) -> None:
    """Writes the result of a step; reward and flags keep the types that the environment returned.

    Large arrays of the observation are attached. Those of the info stay in the message, because slots of shared memory
    have the size of observations.

    Args:
        result: What the environment returned.
        message: Filled in place.
        attachments: Empty; receives large arrays.
        vector: Whether reward and flags are those of a vector environment's members.

    Raises:
        CodecError: The observation, the reward, a flag, or a key of the info has no wire form.
    """
    observation, reward, terminated, truncated, info = result
    encode_value(observation, message.observation, "observation", attachments=attachments)
    reward = located("reward", native, reward)
    message.reward = plain_reward(reward, vector=vector)
    if type(reward) is not float:
        encode_value(reward, message.typed_reward, "reward")
    for name, flag in (("terminated", terminated), ("truncated", truncated)):
        flag = located(name, native, flag)  # noqa: PLW2901 - its wire form
        setattr(message, name, plain_flag(flag, vector=vector))
        if type(flag) is not bool:
            encode_value(flag, getattr(message, f"typed_{name}"), name)
    message.info.SetInParent()
    encode_mapping(info, message.info, "info", opaque=True)


def read_step(
    message: environment_pb2.StepResponse,
    family: Family,
    area: Area | None = None,
    allowance: FillAllowance | None = None,
) -> StepResult:
    """Reads the result of a step.

    Args:
        message: The message.
        family: Classes to build values of.
        area: The attachments that came with the message.
        allowance: The allowance of a message with several steps; by default one for this step.

    Raises:
        CodecError: The answer breaks the contract.
    """
    answer: Any = message
    given: Any = {"area": area, "allowance": allowance or FillAllowance()}
    reward, terminated, truncated = (
        decode_value(getattr(answer, f"typed_{name}"), family, **given)
        if answer.HasField(f"typed_{name}")
        else getattr(answer, name)
        for name in ("reward", "terminated", "truncated")
    )
    observation = decode_value(message.observation, family, **given)
    info = decode_mapping(message.info, family, **given)
    return observation, reward, terminated, truncated, info


def plain_reward(reward: Any, *, vector: bool = False) -> float:
    """Returns the value of a reward's plain field: that of a number, or of an array of one; NaN for anything else."""
    if isinstance(reward, np.complexfloating) or (vector and getattr(reward, "ndim", 0) > 0):
        return math.nan
    try:  # arrays of several elements have no `item`
        return float(reward.item() if type(reward) is np.ndarray else reward)
    except (TypeError, ValueError, OverflowError):
        return math.nan


def plain_flag(flag: Any, *, vector: bool = False) -> bool:
    """Returns the value of a flag's plain field; False for those of a vector environment, which are an array."""
    return False if vector and getattr(flag, "ndim", 0) > 0 else bool(flag)
