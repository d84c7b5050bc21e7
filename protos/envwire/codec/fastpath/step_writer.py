"""Encodes answers to steps by rewriting only what differs from the last one.

Answers differ from the last one in a few fields: observation, reward, flags and info. The bytes are those that protobuf
would write, but a message is built only for a part whose form has changed: building one costs ten times as much as
joining bytes.
"""

from __future__ import annotations

from typing import Any, Final

from envwire.codec.fastpath.step_parts import (
    DOUBLE,
    ENDS,
    FLAGS,
    INFO,
    NO_INFO,
    OBSERVATION,
    RESPONSE,
    REWARD,
    TAIL,
    TYPED,
)
from envwire.codec.fastpath.values import TreeWriter, ValueWriter
from envwire.codec.steps.messages import number, truth
from envwire.codec.steps.step_codec import StepResult
from envwire.codec.values.encoding import encode_mapping
from envwire.v1 import values_pb2
from envwire.wire.frames import Attachments
from envwire.wire.varints import varint

#: The end of most answers.
_GOES_ON: Final = ENDS[False, False]


class StepResponseWriter:
    """Writes the answers to the steps of one session."""

    def __init__(self) -> None:
        self._observation = ValueWriter()
        self._typed = tuple(ValueWriter() for _ in TYPED)
        self._info = TreeWriter(INFO)
        self._last = b"", b""

    def write(self, result: StepResult, attachments: Attachments | None = None) -> bytes | None:
        """Returns the InteractResponse of a step; None if it is left to protobuf.

        Args:
            result: What the environment returned.
            attachments: Empty; receives the large arrays of the observation. Those of the info stay in the message,
                because slots of shared memory have the size of observations.

        Raises:
            CodecError: The info cannot be encoded.
        """
        observation, reward, terminated, truncated, info = result
        parts = self._observation.parts(observation, attachments)
        if parts is None:
            return None
        if type(reward) is float and terminated is False and truncated is False and not info:
            head, elements = parts
            last, before = self._last
            if head is not last:
                before = self._begin(head, len(elements))
            return b"".join((before, elements, TAIL.pack(REWARD, reward, _GOES_ON)))
        outcome = self._outcome(result)
        if outcome is None:
            return None
        end = (self._info.parts(info) or _built(info)) if info else (NO_INFO,)
        size = varint(len(parts[0]) + len(parts[1]))
        body = (OBSERVATION, size, *parts, outcome, *end)
        return b"".join((RESPONSE, varint(sum(map(len, body))), *body))

    def _begin(self, head: bytes, length: int) -> bytes:
        """Returns what is before the elements in a plain answer, and remembers it for the next ones with this head."""
        begin = OBSERVATION + varint(len(head) + length) + head
        before = RESPONSE + varint(len(begin) + length + TAIL.size) + begin
        self._last = head, before
        return before

    def _outcome(self, result: StepResult) -> bytes | None:
        """Returns the encoded reward and flags; None if they are left to protobuf."""
        _, reward, terminated, truncated, _ = result
        if type(terminated) is bool and type(truncated) is bool:
            flags = FLAGS[terminated, truncated]
            if type(reward) is float:
                return REWARD + DOUBLE.pack(reward) + flags
        else:
            flags = FLAGS[truth(terminated), truth(truncated)]
        return self._typed_outcome(result, flags)

    def _typed_outcome(self, result: StepResult, flags: bytes) -> bytes | None:
        """Returns the encoded reward and flags, at least one of which is not a plain number or boolean."""
        plain = (float, bool, bool)
        parts = [REWARD, DOUBLE.pack(number(result[1])), flags]
        for mark, writer, value, kind in zip(TYPED, self._typed, result[1:4], plain, strict=True):
            if type(value) is not kind:
                written = writer.write(value)
                if written is None:
                    return None
                parts += (mark, varint(len(written)), written)
        return b"".join(parts)


def _built(info: dict[Any, Any]) -> tuple[bytes, ...]:
    """Returns an info encoded by protobuf."""
    message = values_pb2.ValueMap()
    encode_mapping(info, message, "info", opaque=True)
    return INFO, varint(message.ByteSize()), message.SerializeToString()
