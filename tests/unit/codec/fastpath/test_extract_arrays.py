"""Taking large arrays out of a message: the values stay equal, and an unreadable message stays unchanged."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given

from envwire.codec import decode_mapping, decode_value, encode_mapping, encode_value
from envwire.codec.family import envwire_family
from envwire.codec.fastpath.attached_arrays import (
    EXTRACTED_FROM,
    extract_arrays,
    inline_arrays,
    pieces,
)
from envwire.codec.fastpath.step_responses import StepResponseReader, StepResponseWriter
from envwire.codec.values.tensors import encode_tensor
from envwire.testing.comparing import identical
from envwire.v1 import environment_pb2 as pb
from envwire.wire.envelope import RESPONSES
from envwire.wire.frames import ALIGNMENT, Attachments, Packet, Reply
from tests.tiers import examples
from tests.unit.codec.fastpath.test_inline_arrays import VALUES, native

LARGE = np.arange(EXTRACTED_FROM // 4, dtype=np.float32)
INFO: dict[str, Any] = {"large": LARGE, "small": np.arange(3)}
PROFILE = examples(40)


def response(kind: str, observation: Any) -> pb.InteractResponse:
    made = pb.InteractResponse()
    body = getattr(made, kind)
    encode_value(observation, body.observation)
    encode_mapping(INFO, body.info)
    return made


@PROFILE
@given(VALUES)
def test_the_same_values_arrive(value: Any) -> None:
    observation = [value, LARGE, {"again": value}]
    whole = response("reset", observation).SerializeToString()
    _, inner = RESPONSES.unwrap(whole)
    for reply in (extract_arrays(whole), extract_arrays(inner, "reset")):
        assert len(reply.message) < len(whole) - LARGE.nbytes
        assert reply.area is not None
        assert reply.area.flags.writeable
        read = pb.InteractResponse.FromString(reply.message).reset
        arrived = decode_value(read.observation, None, area=reply.area)
        assert identical(arrived, native(observation))
        assert identical(decode_mapping(read.info, None, area=reply.area), INFO)


def test_arrays_begin_where_those_of_a_direct_channel_do() -> None:
    """A frame, its arrays back in the message, and out of it again."""
    observation = [np.arange(5001, dtype=np.uint8), LARGE, np.arange(5000.0)]
    attachments, made = Attachments(), pb.InteractResponse()
    encode_value(observation, made.render.frame, attachments=attachments)
    packet = Packet(made.SerializeToString(), attachments)
    reply = extract_arrays(inline_arrays(packet).message)
    assert reply.message == packet.message
    assert reply.area is not None
    assert reply.area.size == attachments.length
    assert attachments.length % ALIGNMENT == LARGE.nbytes % ALIGNMENT == 0


def test_a_step_stays_whole_and_is_read_as_from_a_direct_channel() -> None:
    writer, reader = StepResponseWriter(), StepResponseReader(envwire_family())
    for step in range(3):
        attachments = Attachments()
        message = writer.write((LARGE + step, 0.5, False, True, {}), attachments)
        assert message is not None
        whole = pieces(Packet(message, attachments))
        assert sum(map(len, whole)) == len(b"".join(whole))
        assert any(isinstance(each, memoryview) for each in whole), "not copied"
        reply = extract_arrays(b"".join(whole))
        assert reply == Reply(b"".join(whole))
        result = reader.read(reply.message, reply.area)
        assert result is not None
        assert identical(result, (LARGE + step, 0.5, False, True, {}))


def test_a_step_of_a_unary_call_is_read_as_on_a_stream() -> None:
    large = np.tile(LARGE, 5)
    writer, reader = StepResponseWriter(), StepResponseReader(envwire_family())
    for step in range(3):
        message = writer.write(({"a": large + step, "b": 1}, 0.5, False, True, INFO))
        assert message is not None
        kind, inner = RESPONSES.unwrap(message)
        reply = extract_arrays(inner, kind)
        assert reply.area is not None
        assert len(reply.message) < len(message) - large.nbytes, "it was not wrapped whole"
        result = reader.read(reply.message, reply.area)
        assert result is not None
        assert identical(result, ({"a": large + step, "b": 1}, 0.5, False, True, INFO))


def test_a_small_message_stays_as_it_is() -> None:
    message = response("reset", 1).SerializeToString()[: EXTRACTED_FROM - 1]
    reply = extract_arrays(message)
    assert reply.message is message
    assert reply.area is None


def oddities() -> dict[str, bytes]:
    whole = response("reset", LARGE)
    filled, wrong, twice, bare = (response("reset", LARGE) for _ in range(4))
    filled.reset.observation.array.fill = True
    wrong.reset.observation.array.shape[0] -= 1
    twice.reset.observation.array.attachment_offset = 64
    bare.reset.observation.array.ClearField("data")
    bare.reset.observation.array.shape.extend([1] * EXTRACTED_FROM)
    bare.reset.ClearField("info")
    raw = whole.SerializeToString()
    return {
        "fill": filled.SerializeToString(),
        "another shape": wrong.SerializeToString(),
        "attached already": twice.SerializeToString(),
        "only a shape": bare.SerializeToString(),
        "cut": raw[:-1],
        "more": raw + b"\x0b",
        "zeros": bytes(EXTRACTED_FROM),
        "ones": b"\xff" * EXTRACTED_FROM,
        "a space": make_response().SerializeToString(),
    }


def make_response() -> pb.InteractResponse:
    made = pb.InteractResponse()
    encode_tensor(LARGE, made.make.observation_space.box.low)
    return made


@pytest.mark.parametrize("kind", oddities())
def test_what_is_odd_is_left_to_protobuf(kind: str) -> None:
    message = oddities()[kind]
    assert extract_arrays(message) == Reply(message)
    if kind == "a space":
        kind, inner = RESPONSES.unwrap(message)
        assert extract_arrays(inner, kind) == Reply(message)


def test_fields_that_a_later_contract_adds_are_kept() -> None:
    added = b"\xca\x3e\x03abc"  # field 1001
    kind, inner = RESPONSES.unwrap(response("reset", LARGE).SerializeToString())
    reply = extract_arrays(inner + added, kind)
    assert reply.area is not None
    assert reply.message.endswith(added)
