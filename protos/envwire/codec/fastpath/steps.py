"""The usual step, written and read by its fixed parts.

A step's messages differ from the last one's in a few places: the number, the action, the observation, the reward, the
flags, the info. These classes write and read them in protobuf's own form, but build a message only for a part that is
not like the last one. They are where a session spends its time: a message costs ten times as much as joining its bytes.
"""

from __future__ import annotations

import math
import struct
from typing import TYPE_CHECKING, Any, Final, TypeAlias, cast

from google.protobuf.message import DecodeError

from envwire.codec.fastpath.array_layouts import UNUSUAL, Model
from envwire.codec.fastpath.values import TreeReader, TreeWriter, ValueReader, ValueWriter
from envwire.codec.values.encoding import decode_mapping, decode_value, encode_mapping
from envwire.v1 import environment_pb2, values_pb2
from envwire.wire.varints import (
    FIXED64,
    LENGTH_DELIMITED,
    VARINT,
    behind_length,
    read_varint,
    tag,
    varint,
)

if TYPE_CHECKING:
    from envwire.codec.family import Family
    from envwire.wire.frames import Area, Attachments

_DOUBLE: Final = struct.Struct("<d")
_STEP: Final = environment_pb2.StepResponse
_REQUEST: Final = tag(environment_pb2.InteractRequest, "step", LENGTH_DELIMITED)
_SEQUENCE: Final = tag(environment_pb2.StepRequest, "sequence", VARINT)
_ACTION: Final = tag(environment_pb2.StepRequest, "action", LENGTH_DELIMITED)
_RESPONSE: Final = tag(environment_pb2.InteractResponse, "step", LENGTH_DELIMITED)
_OBSERVATION: Final = tag(_STEP, "observation", LENGTH_DELIMITED)
_REWARD: Final = tag(_STEP, "reward", FIXED64)
_INFO: Final = tag(_STEP, "info", LENGTH_DELIMITED)
_NO_INFO: Final = _INFO + b"\0"

#: The two flags, always written: an answer is then as long as the last one, and its receiver knows where it ends.
_FLAGS: Final = {
    (terminated, truncated): tag(_STEP, "terminated", VARINT)
    + bytes((terminated,))
    + tag(_STEP, "truncated", VARINT)
    + bytes((truncated,))
    for terminated in (False, True)
    for truncated in (False, True)
}
_FLAGS_READ: Final = {written: flags for flags, written in _FLAGS.items()}
_FLAG_BYTES: Final = 4

#: What follows the observation in a plain step: tag and reward, both flags, an empty info.
_TAIL: Final = struct.Struct("<1sd4s2s")

#: Reward and flags of another type than a plain number and plain booleans, in the order in which they are written.
_TYPED: Final = tuple(
    tag(_STEP, f"typed_{name}", LENGTH_DELIMITED) for name in ("reward", "terminated", "truncated")
)

_Outcome: TypeAlias = tuple[Any, Any, Any]

StepResult = tuple[Any, Any, Any, Any, dict[Any, Any]]
"""What `Env.step` returns."""


class StepRequestWriter:
    """Writes the steps of one session."""

    def __init__(self) -> None:
        self._action = ValueWriter()

    def write(self, sequence: int, action: Any) -> bytes | None:
        """Returns the InteractRequest of a step, without a header; None when the action is not a usual one."""
        value = self._action.write(action)
        if value is None:
            return None
        number, size = varint(sequence), varint(len(value))
        length = len(_SEQUENCE) + len(number) + len(_ACTION) + len(size) + len(value)
        return b"".join((_REQUEST, varint(length), _SEQUENCE, number, _ACTION, size, value))


class StepRequestReader:
    """Reads the steps of one session."""

    def __init__(self) -> None:
        self._length = -1
        self._before = b""
        self._action = ValueReader()

    def learn(self, action: Any) -> None:
        """Takes the action of a step that protobuf read as the model of those to come."""
        self._action.learn(action)

    def read(self, raw: bytes) -> tuple[int, Any] | None:
        """Returns the number and the action of a step; None when it is not a usual one.

        Args:
            raw: An InteractRequest, without a header.
        """
        if len(raw) != self._length or not raw.startswith(self._before):
            start = behind_length(raw) if raw[:1] == _REQUEST else 0
            end = start + len(_SEQUENCE)
            if start == 0 or raw[start:end] != _SEQUENCE:
                return None
            self._length, self._before = len(raw), raw[:end]
        sequence, index = read_varint(raw, len(self._before))
        if raw[index : index + 1] != _ACTION:
            return None
        length, start = read_varint(raw, index + 1)
        if start + length != len(raw):
            return None
        action = self._action.read(raw, start, len(raw))
        return None if action is UNUSUAL else (sequence, action)


class StepResponseWriter:
    """Writes the answers to the steps of one session."""

    def __init__(self) -> None:
        self._observation = ValueWriter()
        self._typed = tuple(ValueWriter() for _ in _TYPED)
        self._info = TreeWriter(_INFO)
        self._last = b"", b""

    def write(self, result: StepResult, attachments: Attachments | None = None) -> bytes | None:
        """Returns the InteractResponse of a step; None when it is not a usual one.

        Args:
            result: What the environment returned.
            attachments: Empty; takes the large arrays of the observation. Those of the info stay in the message: the
                slots of a shared memory are as large as observations.

        Raises:
            CodecError: The info has no wire form.
        """
        observation, reward, terminated, truncated, info = result
        parts = self._observation.parts(observation, attachments)
        if parts is None:
            return None
        plain = type(reward) is float and type(terminated) is bool and type(truncated) is bool
        if plain and not info:
            return self._plain(
                *parts, _TAIL.pack(_REWARD, reward, _FLAGS[terminated, truncated], _NO_INFO)
            )
        outcome = self._outcome(result)
        if outcome is None:
            return None
        end = (self._info.parts(info) or _built(info)) if info else (_NO_INFO,)
        size = varint(len(parts[0]) + len(parts[1]))
        body = (_OBSERVATION, size, *parts, outcome, *end)
        return b"".join((_RESPONSE, varint(sum(map(len, body))), *body))

    def _plain(self, head: bytes, elements: bytes, tail: bytes) -> bytes:
        """Returns an answer that differs from the last one in elements, reward and flags."""
        last, before = self._last
        if head is not last:
            length = len(head) + len(elements)
            begin = _OBSERVATION + varint(length) + head
            body = len(begin) + len(elements) + len(tail)
            before = _RESPONSE + varint(body) + begin
            self._last = head, before
        return b"".join((before, elements, tail))

    def _outcome(self, result: StepResult) -> bytes | None:
        """Returns reward and flags."""
        _, reward, terminated, truncated, _ = result
        if type(terminated) is bool and type(truncated) is bool:
            flags = _FLAGS[terminated, truncated]
            if type(reward) is float:
                return _REWARD + _DOUBLE.pack(reward) + flags
        else:
            flags = _FLAGS[truth(terminated), truth(truncated)]
        return self._typed_outcome(result, flags)

    def _typed_outcome(self, result: StepResult, flags: bytes) -> bytes | None:
        """Returns reward and flags, of which one at least has a type of its own."""
        plain = (float, bool, bool)
        parts = [_REWARD, _DOUBLE.pack(number(result[1])), flags]
        for mark, writer, value, kind in zip(_TYPED, self._typed, result[1:4], plain, strict=True):
            if type(value) is not kind:
                written = writer.write(value)
                if written is None:
                    return None
                parts += (mark, varint(len(written)), written)
        return b"".join(parts)


def number(reward: Any) -> float:
    """Returns what stands in the plain field of a reward: NaN for what is not one number."""
    if getattr(reward, "ndim", 0):
        return math.nan
    try:
        return float(reward)
    except (TypeError, ValueError, OverflowError):
        return math.nan


def truth(flag: Any) -> bool:
    """Returns what stands in the plain field of a flag: an array of flags has no truth of its own."""
    return bool(flag) if getattr(flag, "ndim", 0) == 0 else False


def _built(info: dict[Any, Any]) -> tuple[bytes, ...]:
    """Returns an info as protobuf writes it."""
    message = values_pb2.ValueMap()
    encode_mapping(info, message, "info", opaque=True)
    return _INFO, varint(message.ByteSize()), message.SerializeToString()


class StepResponseReader:
    """Reads the answers to the steps of one session.

    Args:
        family: Classes to build of.
    """

    def __init__(self, family: Family) -> None:
        self._family = family
        self._observation = ValueReader()
        self._typed = tuple(ValueReader() for _ in _TYPED)
        self._info = TreeReader(_INFO)
        self._length = -1
        self._before = b""
        self._model: Model | None = None

    def read(self, raw: bytes, area: Area | None = None) -> StepResult | None:
        """Returns what `Env.step` returned; None when the answer is not a usual one, for protobuf to read.

        Args:
            raw: An InteractResponse.
            area: What was attached to it.

        Raises:
            CodecError: The answer breaks the contract.
        """
        if len(raw) == self._length and raw.startswith(self._before):
            result = self._plain(raw, area)
            if result is not None:
                return result
        start = behind_length(raw) if raw[:1] == _RESPONSE else 0
        if start == 0 or raw[start : start + 1] != _OBSERVATION:
            return None
        try:
            return self._read(raw, start + 1, area)
        except (DecodeError, struct.error):  # protobuf says better what is wrong
            return None

    def _plain(self, raw: bytes, area: Area | None) -> StepResult | None:
        """Reads an answer that differs from the last one in the observation, of the same length, reward and flags."""
        start, end = len(self._before), len(raw) - _TAIL.size
        mark, reward, flags, rest = _TAIL.unpack_from(raw, end)
        outcome, model = _FLAGS_READ.get(flags), self._model
        if outcome is None or mark != _REWARD or rest != _NO_INFO:
            return None
        if model is None:
            observation = self._observation.read(raw, start, end, area)
        elif start < end:
            observation = model.read_inline(raw, start)
        elif area is not None and area.size == model.length:
            observation = model.read_beside(area)
        else:
            return None
        return None if observation is UNUSUAL else (observation, reward, *outcome, {})

    def _remember(self, raw: bytes, begin: int, observation: Any) -> None:
        """Takes a plain answer, whose observation is a Value from `begin` on, as the model of those to come."""
        self._length = (
            -1
        )  # until all of it is there: whoever interrupts a step leaves a model that is whole
        self._before, self._model = raw[:begin], None
        model, end = self._observation.model, len(raw) - _TAIL.size
        if model is not None and model.fits(observation):
            for start, head in ((end - model.length, model.inline), (end, model.beside)):
                if start > 0 and raw.endswith(head, 0, start):
                    self._before, self._model = raw[:start], model
                    break
        self._length = len(raw)

    def _read(self, raw: bytes, index: int, area: Area | None) -> StepResult | None:
        begin = index
        observation, index = self._value(self._observation, raw, begin, area)
        flags = index + 1 + _DOUBLE.size
        outcome = _FLAGS_READ.get(raw[flags : flags + _FLAG_BYTES])
        if outcome is None or raw[index : index + 1] != _REWARD:
            return None
        plain: _Outcome = (_DOUBLE.unpack_from(raw, index + 1)[0], *outcome)
        index = flags + _FLAG_BYTES
        if raw[index:] == _NO_INFO:
            self._remember(raw, read_varint(raw, begin)[1], observation)
            return (observation, *plain, {})
        values = plain
        if raw[index : index + 1] != _INFO:
            values, index = self._typed_values(raw, index, plain)
        info = self._read_info(raw, index, area)
        return None if info is None else (observation, *values, info)

    def _typed_values(self, raw: bytes, index: int, plain: _Outcome) -> tuple[_Outcome, int]:
        values = list(plain)
        for position, mark in enumerate(_TYPED):
            if raw[index : index + 1] == mark:
                values[position], index = self._value(self._typed[position], raw, index + 1, None)
        return (values[0], values[1], values[2]), index

    def _read_info(self, raw: bytes, index: int, area: Area | None) -> dict[Any, Any] | None:
        if raw[index:] == _NO_INFO:
            return {}
        known = self._info.read(raw, index, len(raw), area)
        if known is not UNUSUAL:
            return cast("dict[Any, Any]", known)
        length, start = read_varint(raw, index + 1)
        if raw[index : index + 1] != _INFO or start + length != len(raw):
            return None
        message = values_pb2.ValueMap.FromString(raw[start:])
        info = decode_mapping(message, self._family, area=area)
        self._info.learn(info)
        return info

    def _value(
        self, reader: ValueReader, raw: bytes, index: int, area: Area | None
    ) -> tuple[Any, int]:
        """Returns the value behind a length, and where it ends."""
        length, start = read_varint(raw, index)
        end = start + length
        if not 0 < start <= end <= len(raw):
            raise DecodeError
        value = reader.read(raw, start, end, area)
        if value is UNUSUAL:
            value = decode_value(
                values_pb2.Value.FromString(raw[start:end]), self._family, area=area
            )
            reader.learn(value)
        return value, end
