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
_TAG_BYTES: Final = len(_SEQUENCE + _ACTION)


class StepRequestWriter:
    """Writes the steps of one session."""

    def __init__(self) -> None:
        self._action = ValueWriter()

    def write(self, sequence: int, action: Any) -> bytes | None:
        """Returns the InteractRequest of a step, without a header; None if the action is left to protobuf."""
        value = self._action.write(action)
        if value is None:
            return None
        number, size = varint(sequence), varint(len(value))
        length = _TAG_BYTES + len(number) + len(size) + len(value)
        return b"".join((_REQUEST, varint(length), _SEQUENCE, number, _ACTION, size, value))


class StepRequestReader:
    """Reads the steps of one session."""

    def __init__(self) -> None:
        self._length = -1
        self._before = b""
        self._action = ValueReader()

    def learn(self, action: Any) -> None:
        """Remembers the form of an action that protobuf has read, so that the next ones like it take the fast path."""
        self._action.learn(action)

    def read(self, raw: bytes) -> PlainStep | None:
        """Returns the sequence number and the action of a step; None if it is left to protobuf.

        Args:
            raw: An InteractRequest, without a header.
        """
        if len(raw) != self._length or not raw.startswith(self._before):
            start = content_start(raw) if raw[:1] == _REQUEST else 0
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
        return None if action is UNKNOWN else (sequence, action)
