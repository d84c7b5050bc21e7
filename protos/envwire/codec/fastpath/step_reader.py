"""Decodes answers to steps by comparing them with the last one (see `step_writer`)."""

from __future__ import annotations

import struct
from typing import Any, TypeAlias, cast

from google.protobuf.message import DecodeError

from envwire.codec.errors.codec_error import CodecError
from envwire.codec.family import Family
from envwire.codec.fastpath.array_layouts import UNKNOWN, ArrayLayout
from envwire.codec.fastpath.step_parts import (
    DOUBLE,
    ENDS_READ,
    FLAG_BYTES,
    FLAGS_READ,
    INFO,
    NO_INFO,
    OBSERVATION,
    RESPONSE,
    REWARD,
    TAIL,
    TAILS_READ,
    TYPED,
)
from envwire.codec.fastpath.values import TreeReader, ValueReader
from envwire.codec.steps.step_codec import StepResult
from envwire.codec.values.encoding import decode_mapping, decode_value
from envwire.v1 import values_pb2
from envwire.wire.frames import Area
from envwire.wire.varints import content_start, read_varint

_Outcome: TypeAlias = tuple[Any, Any, Any]


class StepResponseReader:
    """Reads the answers to the steps of one session.

    The reader remembers a plain answer whose observation is an array, up to the elements. The next answer that has this
    length and begins with these bytes is read with one comparison. For CartPole this saves 7,900 of the 65,700
    instructions of a client's step: 12 %.

    Args:
        family: Classes to build values of.
    """

    def __init__(self, family: Family) -> None:
        self._family = family
        self._observation = ValueReader()
        self._typed = tuple(ValueReader() for _ in TYPED)
        self._info = TreeReader(INFO)
        #: Length of the last plain answer, what is before its elements, their layout, and what is behind them.
        self._last: tuple[int, bytes, ArrayLayout | None, struct.Struct] = -1, b"", None, TAIL

    def read(self, raw: bytes, area: Area | None = None) -> StepResult | None:
        """Returns the result of `Env.step`; None if the answer is left to protobuf.

        Args:
            raw: An InteractResponse.
            area: Its attachments.
        """
        length, before, layout, tail = self._last
        if layout is not None and len(raw) == length and raw.startswith(before):
            mark, reward, end = tail.unpack_from(raw, length - tail.size)
            outcome = ENDS_READ.get(end)
            if outcome is not None and mark == REWARD:
                observation = layout.read_inline(raw, len(before))
                if observation is not UNKNOWN:
                    return (observation, reward, *outcome, {})
        return self._read_any(raw, area)

    def _read_any(self, raw: bytes, area: Area | None) -> StepResult | None:
        """Reads an answer that differs from the last one in more than elements, reward and flags."""
        start = content_start(raw) if raw[:1] == RESPONSE else 0
        if start == 0 or raw[start : start + 1] != OBSERVATION:
            return None
        try:
            observation, index = self._value(self._observation, raw, start + 1, area)
            outcome = ENDS_READ.get(raw[index + 1 + DOUBLE.size :])
            if outcome is None or raw[index : index + 1] != REWARD:
                return self._with_info(observation, raw, index, area)
        except (CodecError, DecodeError, struct.error):  # protobuf reports what is wrong, if it is
            return None
        self._remember(raw, index, observation)
        return (observation, DOUBLE.unpack_from(raw, index + 1)[0], *outcome, {})

    def _remember(self, raw: bytes, end: int, observation: Any) -> None:
        """Remembers a plain answer, whose observation ends at `end`, as the pattern for the next ones."""
        layout = self._observation.layout
        if layout is None or end <= layout.length or not layout.fits(observation):  # or attached
            return
        start = end - layout.length
        if raw.endswith(layout.inline, 0, start):
            self._last = len(raw), raw[:start], layout, TAILS_READ[len(raw) - end]

    def _with_info(
        self, observation: Any, raw: bytes, index: int, area: Area | None
    ) -> StepResult | None:
        """Reads the rest of an answer that has an info, or a reward and flags of other types."""
        flags = index + 1 + DOUBLE.size
        outcome = FLAGS_READ.get(raw[flags : flags + FLAG_BYTES])
        if outcome is None or raw[index : index + 1] != REWARD:
            return None
        values: _Outcome = (DOUBLE.unpack_from(raw, index + 1)[0], *outcome)
        index = flags + FLAG_BYTES
        if raw[index : index + 1] != INFO:
            values, index = self._typed_values(raw, index, values, area)
        info = self._read_info(raw, index, area)
        return None if info is None else (observation, *values, info)

    def _typed_values(
        self, raw: bytes, index: int, plain: _Outcome, area: Area | None
    ) -> tuple[_Outcome, int]:
        values = list(plain)
        for position, mark in enumerate(TYPED):
            if raw[index : index + 1] == mark:
                values[position], index = self._value(self._typed[position], raw, index + 1, area)
        return (values[0], values[1], values[2]), index

    def _read_info(self, raw: bytes, index: int, area: Area | None) -> dict[Any, Any] | None:
        if raw[index:] == NO_INFO:
            return {}
        if raw[index : index + 1] != INFO:
            return None
        known = self._info.read(raw, index, len(raw), area)
        if known is not UNKNOWN:
            return cast("dict[Any, Any]", known)
        length, start = read_varint(raw, index + 1)
        if start + length != len(raw):
            return None
        message = values_pb2.ValueMap.FromString(raw[start:])
        info = decode_mapping(message, self._family, area=area)
        self._info.learn(info)
        return info

    def _value(
        self, reader: ValueReader, raw: bytes, index: int, area: Area | None
    ) -> tuple[Any, int]:
        """Returns the length-delimited value at an index, and where it ends."""
        length, start = read_varint(raw, index)
        end = start + length
        if not 0 < start <= end <= len(raw):
            raise DecodeError
        value = reader.read(raw, start, end, area)
        if value is UNKNOWN:
            value = decode_value(
                values_pb2.Value.FromString(raw[start:end]), self._family, area=area
            )
            reader.learn(value)
        return value, end
