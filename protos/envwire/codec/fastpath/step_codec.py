"""The fast step codec, which remembers the bytes that two steps have in common, and the choice of a session's codec."""

from __future__ import annotations

import os
from typing import Any, Final

from envwire.codec.family import Family
from envwire.codec.fastpath.batches import BatchResponseReader, BatchResponseWriter
from envwire.codec.fastpath.step_requests import StepRequestReader, StepRequestWriter
from envwire.codec.fastpath.step_responses import StepResponseReader, StepResponseWriter
from envwire.codec.steps import PlainStep, StepCodec, StepResult
from envwire.wire.envelope import REQUESTS
from envwire.wire.frames import Area, Attachments

FASTPATH: Final = "ENVWIRE_FASTPATH"
"""Environment variable that switches the fast path off if it is 0, so that all steps use protobuf messages."""


class FixedPartsStepCodec(StepCodec):
    """Writes and reads only the parts that differ from the last step; steps of another form are left to protobuf.

    Args:
        family: Classes to build values of.
        vector: Whether the steps return batches.
    """

    def __init__(self, family: Family, *, vector: bool = False) -> None:
        super().__init__(family)
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
        return StepCodec(family)
    return FixedPartsStepCodec(family, vector=vector)
