"""Encodes and decodes step requests: only the sequence number and the action change."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from envwire.codec.fastpath.array_layouts import UNKNOWN
from envwire.codec.fastpath.values import ValueReader, ValueWriter
from envwire.v1 import environment_pb2
from envwire.wire.varints import LENGTH_DELIMITED, VARINT, content_start, read_varint, tag, varint

if TYPE_CHECKING:
    from envwire.codec.steps.step_codec import PlainStep

_REQUEST: Final = tag(environment_pb2.InteractRequest, "step", LENGTH_DELIMITED)
_SEQUENCE: Final = tag(environment_pb2.StepRequest, "sequence", VARINT)
_ACTION: Final = tag(environment_pb2.StepRequest, "action", LENGTH_DELIMITED)


class StepRequestWriter:
    """Writes the steps of one session."""

    def __init__(self) -> None:
        self._action = ValueWriter()
        #: Lengths of the last number and the last action, and what was written before each.
        self._last = (0, 0), b"", b""

    def write(self, sequence: int, action: Any) -> bytes | None:
        """Returns the InteractRequest of a step, without a header; None if the action is left to protobuf."""
        value = self._action.write(action)
        if value is None:
            return None
        number = varint(sequence)
        last, before, between = self._last
        lengths = len(number), len(value)
        if lengths != last:
            between = _ACTION + varint(len(value))
            before = _REQUEST + varint(len(_SEQUENCE) + sum(lengths) + len(between)) + _SEQUENCE
            self._last = lengths, before, between
        return b"".join((before, number, between, value))


class StepRequestReader:
    """Reads the steps of one session."""

    def __init__(self) -> None:
        #: Length of the last request, what was before its number, where that ended, and what was before its action.
        self._last = -1, b"", 0, b""
        self._action = ValueReader()

    def learn(self, action: Any) -> None:
        """Remembers the form of an action that protobuf has read, so that the next ones like it take the fast path."""
        self._action.learn(action)

    def read(self, raw: bytes) -> PlainStep | None:
        """Returns the sequence number and the action of a step; None if it is left to protobuf.

        Args:
            raw: An InteractRequest, without a header.
        """
        length, before, end, between = self._last
        alike = len(raw) == length and raw.startswith(before)
        sequence, index = read_varint(raw, len(before)) if alike else (0, -1)
        if index != end or not raw.startswith(between, index):
            found = self._find(raw)
            if found is None:
                return None
            sequence, index, between = found
        action = self._action.read(raw, index + len(between), len(raw))
        return None if action is UNKNOWN else (sequence, action)

    def _find(self, raw: bytes) -> tuple[int, int, bytes] | None:
        """Returns the sequence number, where it ends, and what is between it and the action; remembers their places."""
        content = content_start(raw) if raw[:1] == _REQUEST else 0
        begin = content + len(_SEQUENCE)
        if content == 0 or raw[content:begin] != _SEQUENCE:
            return None
        sequence, index = read_varint(raw, begin)
        length, start = read_varint(raw, index + 1)
        if raw[index : index + 1] != _ACTION or start + length != len(raw):
            return None
        self._last = len(raw), raw[:begin], index, raw[index:start]
        return sequence, index, raw[index:start]
