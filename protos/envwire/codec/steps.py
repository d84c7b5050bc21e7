"""Results of steps as messages, and the step codec that builds a message for each step."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Sequence
from typing import Any, Final, TypeAlias

import numpy as np
from google.protobuf.message import DecodeError, Message

from envwire.codec.errors.faults import CodecError, located
from envwire.codec.family import Family
from envwire.codec.values.encoding import decode_mapping, decode_value, encode_mapping, encode_value
from envwire.codec.values.foreign import native
from envwire.codec.values.tensors import FillAllowance
from envwire.v1 import environment_pb2
from envwire.wire.frames import Area, Attachments, DeviceArrays

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


class DeviceStepCodec(StepCodec):
    """The codec of an end that shares memory of a device: arrays of other libraries stay there.

    Most answers of vector environments differ from the last one only in the elements, so that their bytes are equal.
    These are neither written nor read again.

    Args:
        family: Classes to build values of.
        arrays: The arrays of this end, which `family` has as well.
        vector: Whether the steps return batches.
    """

    def __init__(self, family: Family, arrays: DeviceArrays, *, vector: bool = False) -> None:
        super().__init__(family, vector=vector)
        self._arrays = arrays
        self._written = self._read = b""
        self._put_again: Callable[[Sequence[Any]], bool] | None = None
        self._take_again: Callable[[], list[Any]] | None = None

    def encode_request(self, sequence: int, action: Any) -> bytes:
        """Returns the request of a step (see `StepCodec.encode_request`)."""
        request = environment_pb2.InteractRequest()
        request.step.sequence = sequence
        encode_value(action, request.step.action, "action", arrays=self._arrays)
        return request.SerializeToString()

    def decode_request(self, raw: bytes) -> PlainStep | None:
        """Reads a step (see `StepCodec.decode_request`)."""
        # What a library or a driver raises is reported by the caller, who decodes the request again.
        with contextlib.suppress(Exception):
            return super().decode_request(raw)
        return None

    def encode_response(self, result: StepResult, attachments: Attachments | None = None) -> bytes:
        """Returns the answer to a step, and waits until it may be sent (see `StepCodec.encode_response`)."""
        shares = attachments is not None and attachments.arrays is not None
        plain = shares and self._vector and not result[4]
        if not (plain and self._put_again is not None and self._put_again(result[:4])):
            self._written = super().encode_response(result, attachments)
            self._put_again = self._arrays.repeat_puts(result[:4]) if plain else None
        if shares:
            self._arrays.finish()
        return self._written

    def decode_response(self, raw: bytes, area: Area | None = None) -> StepResult | None:
        """Reads an answer (see `StepCodec.decode_response`)."""
        if self._take_again is not None and area is None and raw == self._read:
            observation, reward, terminated, truncated = self._take_again()
            return observation, reward, terminated, truncated, {}
        result = super().decode_response(raw, area)
        plain = result is not None and self._vector and not result[4]
        self._take_again = self._arrays.repeat_takes(result[:4]) if plain and result else None
        self._read = raw
        return result


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
    arrays = None if attachments is None else attachments.arrays
    encode_value(observation, message.observation, "observation", attachments=attachments)
    plain = _plain(reward, "reward", arrays, vector)
    message.reward = plain_reward(plain, vector=vector)
    if type(plain) is not float:
        encode_value(
            plain if arrays is None else reward, message.typed_reward, "reward", arrays=arrays
        )
    for name, flag in (("terminated", terminated), ("truncated", truncated)):
        plain = _plain(flag, name, arrays, vector)
        setattr(message, name, plain_flag(plain, vector=vector))
        if type(plain) is not bool:
            typed = getattr(message, f"typed_{name}")
            encode_value(plain if arrays is None else flag, typed, name, arrays=arrays)
    message.info.SetInParent()
    encode_mapping(info, message.info, "info", opaque=True, arrays=arrays)


def _plain(value: Any, name: str, arrays: DeviceArrays | None, vector: bool) -> Any:
    """Returns what a reward or a flag stands for; those of a vector's members stay on their device if they can."""
    if arrays is not None and vector and getattr(value, "ndim", 0) > 0:
        return value
    return located(name, native, value)


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
