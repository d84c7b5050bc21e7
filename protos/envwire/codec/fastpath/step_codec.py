"""The fast step codec, which remembers what two steps have in common, and the choice of a session's codec."""

from __future__ import annotations

import os
from typing import Any, Final

from envwire.codec.family import Family
from envwire.codec.fastpath.array_layouts import UNKNOWN
from envwire.codec.fastpath.batches import BatchResponseReader, BatchResponseWriter
from envwire.codec.fastpath.step_responses import StepResponseReader, StepResponseWriter
from envwire.codec.fastpath.values import ValueReader, ValueWriter
from envwire.codec.steps import PlainStep, StepCodec, StepResult
from envwire.v1 import environment_pb2
from envwire.wire.envelope import REQUESTS
from envwire.wire.frames import Area, Attachments
from envwire.wire.varints import content_start, read_varint, tag, varint

FASTPATH: Final = "ENVWIRE_FASTPATH"
"""Environment variable that switches the fast path off if it is 0, so that all steps use protobuf messages."""


class FixedPartsStepCodec(StepCodec):
    """Writes and reads only the parts that differ from the last step; steps of another form are left to protobuf.

    Args:
        family: Classes to build values of.
        vector: Whether the steps return batches.
    """

    def __init__(self, family: Family, *, vector: bool = False) -> None:
        super().__init__(family, vector=vector)
        reader = StepRequestReader()
        # Bound once: looking the methods up at each step takes as long as some of their work.
        self._write_request = StepRequestWriter().write
        self._read_request, self._learn_request = reader.read, reader.learn
        self._write_response = (BatchResponseWriter() if vector else StepResponseWriter()).write
        self._read_response = (
            BatchResponseReader(family) if vector else StepResponseReader(family)
        ).read

    def encode_request(self, sequence: int, action: Any) -> bytes:
        """Returns the request of a plain step (see `StepCodec.encode_request`)."""
        written = self._write_request(sequence, action)
        return super().encode_request(sequence, action) if written is None else written

    def decode_request(self, raw: bytes) -> PlainStep | None:
        """Reads a plain step (see `StepCodec.decode_request`)."""
        known = self._read_request(raw)
        if known is not None:
            return known
        if REQUESTS.kind(raw) != "step":
            return None
        step = super().decode_request(raw)
        if step is not None:
            self._learn_request(step[1])
        return step

    def encode_response(self, result: StepResult, attachments: Attachments | None = None) -> bytes:
        """Returns the answer to a step (see `StepCodec.encode_response`)."""
        written = self._write_response(result, attachments)
        if written is not None:
            return written
        if attachments is not None:
            attachments.cut(0, 0)
        return super().encode_response(result, attachments)

    def decode_response(self, raw: bytes, area: Area | None = None) -> StepResult | None:
        """Reads a plain answer (see `StepCodec.decode_response`)."""
        known = self._read_response(raw, area)
        return super().decode_response(raw, area) if known is None else known


def step_codec(family: Family, *, vector: bool = False) -> StepCodec:
    """Returns a codec for one end of a session.

    Args:
        family: Classes to build values of.
        vector: Whether the steps return batches.
    """
    if os.environ.get(FASTPATH) == "0":
        return StepCodec(family, vector=vector)
    return FixedPartsStepCodec(family, vector=vector)


_REQUEST: Final = tag(environment_pb2.InteractRequest, "step")
_SEQUENCE: Final = tag(environment_pb2.StepRequest, "sequence")
_ACTION: Final = tag(environment_pb2.StepRequest, "action")
_BYTES: Final = tuple(bytes((byte,)) for byte in range(256))
# In 128 steps that follow each other only the first byte of the number changes, besides the action. Writer and reader
# remember what was before it, what was between it and the action, the smallest such byte, and the number it stands for.


class StepRequestWriter:
    """Writes the steps of one session."""

    def __init__(self) -> None:
        self._action = ValueWriter()
        #: Of the last request: that number, that byte, the action's length, what was before, and what was between.
        self._last = 0, 0, -1, b"", b""

    def write(self, sequence: int, action: Any) -> bytes | None:
        """Returns the InteractRequest of a step, without a header; None if the action is left to protobuf."""
        value = self._action.write(action)
        if value is None:
            return None
        first, lowest, length, before, between = self._last
        count = sequence - first
        if 0 <= count < 0x80 and len(value) == length:
            return b"".join((before, _BYTES[lowest + count], between, value))
        return self._begin(sequence, value)

    def _begin(self, sequence: int, value: bytes) -> bytes:
        """Returns a request that differs from the last one in more than a byte and the action, and remembers it."""
        number, count = varint(sequence), sequence & 0x7F
        between = number[1:] + _ACTION + varint(len(value))
        length = len(_SEQUENCE) + 1 + len(between) + len(value)
        before = _REQUEST + varint(length) + _SEQUENCE
        self._last = sequence - count, number[0] - count, len(value), before, between
        return b"".join((before, number[:1], between, value))


class StepRequestReader:
    """Reads the steps of one session; all but that byte and the action is compared with the last request's."""

    def __init__(self) -> None:
        #: Of the last request: its length, what was before the number, where that ended, what was between the number's
        #: first byte and the action, where the action began, and the smallest such byte, with the number it stands for.
        self._last = -1, b"", 0, b"", 0, 0, 0
        self._action = ValueReader()

    def learn(self, action: Any) -> None:
        """Remembers the form of an action that protobuf has read, so that the next ones like it take the fast path."""
        self._action.learn(action)

    def read(self, raw: bytes) -> PlainStep | None:
        """Returns the sequence number and the action of a step; None if it is left to protobuf.

        Args:
            raw: An InteractRequest, without a header.
        """
        length, before, begin, between, start, lowest, first = self._last
        if len(raw) == length and raw.startswith(before) and raw.startswith(between, begin + 1):
            count = raw[begin] - lowest
            if 0 <= count < 0x80:
                action = self._action.read(raw, start, length)
                return None if action is UNKNOWN else (first + count, action)
        return self.read(raw) if self._find(raw) else None

    def _find(self, raw: bytes) -> bool:
        """Remembers the parts of a step's request; returns whether it is one."""
        content = content_start(raw) if raw[:1] == _REQUEST else 0
        begin = content + len(_SEQUENCE)
        if content == 0 or raw[content:begin] != _SEQUENCE:
            return False
        sequence, index = read_varint(raw, begin)
        length, start = read_varint(raw, index + 1)
        if raw[index : index + 1] != _ACTION or start + length != len(raw):
            return False
        lowest = raw[begin] & 0x80
        first = sequence + lowest - raw[begin]
        self._last = len(raw), raw[:begin], begin, raw[begin + 1 : start], start, lowest, first
        return True
