"""Putting attachments back into the message: the values stay equal, for any arrays."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from envwire.codec import decode_mapping, decode_value, encode_mapping, encode_value
from envwire.codec.errors.faults import CodecError
from envwire.codec.fastpath.attached_arrays import inline_arrays
from envwire.testing.comparing import identical
from envwire.v1 import environment_pb2 as pb
from envwire.wire.frames import ALIGNMENT, ATTACHED_FROM, Attachments, Packet
from tests.tiers import examples

PROFILE = examples(60)


def make_array(size: int, dtype: str, step: int) -> Any:
    array: Any = np.arange(size * step)
    return array.astype(dtype)[::step]


ARRAYS = st.builds(
    make_array,
    st.sampled_from([0, 1, 3, ATTACHED_FROM // 8 - 1, ATTACHED_FROM, ATTACHED_FROM + 1, 9000]),
    st.sampled_from(["u1", "<i2", "<f8", "?", "<c16", ">f4", "<U1", "<M8[s]"]),
    st.sampled_from([1, 2]),
)


def nest(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    named = st.dictionaries(st.text(max_size=3), inner, max_size=3)
    return st.lists(inner, max_size=3) | st.tuples(inner, inner) | named


VALUES: st.SearchStrategy[Any] = st.recursive(
    ARRAYS | st.integers() | st.text(max_size=3), nest, max_leaves=6
)


def packed(observation: Any, info: dict[Any, Any]) -> Packet:
    attachments, response = Attachments(), pb.InteractResponse()
    encode_value(observation, response.reset.observation, attachments=attachments)
    encode_mapping(info, response.reset.info, attachments=attachments)
    return Packet(response.SerializeToString(), attachments)


def unpacked(packet: Packet) -> tuple[Any, Any]:
    reply = pb.InteractResponse.FromString(packet.message).reset
    area = None
    if packet.attachments is not None:
        area = np.frombuffer(bytearray(b"".join(packet.attachments.buffers)), np.uint8)
    observation = decode_value(reply.observation, None, area=area)
    return observation, decode_mapping(reply.info, None, area=area)


_SEQUENCES: dict[Any, Any] = {list: list, tuple: tuple}


def native(value: Any) -> Any:
    """Returns a value as it arrives: arrays in this machine's byte order."""
    kind = cast("Any", type(value))
    if kind is np.ndarray:
        return value.astype(value.dtype.newbyteorder("="))
    if kind is dict:
        return {key: native(item) for key, item in value.items()}
    rebuild = _SEQUENCES.get(kind)
    return value if rebuild is None else rebuild(map(native, value))


@PROFILE
@given(VALUES, st.dictionaries(st.text(max_size=3), VALUES, max_size=2))
def test_attached_or_inlined_the_same_values_arrive(observation: Any, info: dict[str, Any]) -> None:
    packet = packed(observation, info)
    expected = (native(observation), native(info))
    assert identical(unpacked(packet), expected)
    whole = inline_arrays(packet)
    assert whole.attachments is None
    assert identical(unpacked(whole), expected)


@PROFILE
@given(st.lists(hnp.arrays(np.uint8, st.integers(1, 200)), min_size=1, max_size=5))
def test_attachments_begin_where_their_offsets_say(arrays: list[Any]) -> None:
    attachments = Attachments()
    offsets = [attachments.add(array) for array in arrays]
    sent = b"".join(attachments.buffers)
    assert len(sent) == attachments.length
    for offset, array in zip(offsets, arrays, strict=True):
        assert offset % ALIGNMENT == 0
        assert sent[offset : offset + array.nbytes] == array.tobytes()


@pytest.mark.parametrize("size", [ATTACHED_FROM - 1, ATTACHED_FROM])
def test_small_arrays_stay_in_the_message(size: int) -> None:
    attachments = packed(np.zeros(size, np.uint8), {}).attachments
    assert attachments is not None
    assert attachments.length == (size if size >= ATTACHED_FROM else 0)


def test_what_is_all_in_the_message_stays_as_it_is() -> None:
    packet = packed(np.zeros(3), {})
    assert inline_arrays(packet).message is packet.message
    assert inline_arrays(Packet(b"anything")) == Packet(b"anything")


@pytest.mark.parametrize("offset", [0, 1, 4096, 2**63])
def test_an_array_beyond_what_is_attached_is_refused(offset: int) -> None:
    response = pb.InteractResponse.FromString(packed(np.zeros(4097, np.uint8), {}).message)
    tensor = response.reset.observation.array
    tensor.attachment_offset = offset
    with pytest.raises(CodecError, match=r"array up to byte \d+ of 4096"):
        decode_value(response.reset.observation, None, area=np.zeros(4096, np.uint8))


def test_an_attached_array_needs_attachments() -> None:
    response = pb.InteractResponse.FromString(packed(np.zeros(4096, np.uint8), {}).message)
    with pytest.raises(CodecError, match="0 bytes of data"):
        decode_value(response.reset.observation, None)
