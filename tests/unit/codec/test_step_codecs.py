"""Both step codecs say the same: what one wrote the other reads, to the last bit and type."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from envwire.codec import CodecError, encode_value, envwire_family
from envwire.codec.errors.statuses import encode_warnings
from envwire.codec.fastpath.step_codec import FASTPATH, FixedPartsStepCodec, step_codec
from envwire.codec.steps import DeviceStepCodec, StepCodec, StepResult
from envwire.testing.comparing import identical
from envwire.v1 import environment_pb2 as pb
from envwire.v1 import status_pb2
from envwire.wire.envelope import session_header, with_header
from envwire.wire.frames import Area, Attachments
from tests.tiers import examples

FAMILY = envwire_family()
PROFILE = examples(100)

NUMBERS = [np.float32, np.uint8, np.int64, np.bool_, np.float16, np.complex64]
ARRAYS = hnp.arrays(st.sampled_from(NUMBERS), hnp.array_shapes(min_dims=0, max_dims=3, min_side=0))
LARGE = st.builds(
    lambda start, dtype: np.arange(start, start + 4500).astype(dtype),
    st.integers(0, 9),
    st.sampled_from([np.uint8, np.float32]),
)
LEAVES = (
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats()
    | st.text(max_size=4)
    | st.binary(max_size=4)
    | st.sampled_from([np.float32(0.5), np.int64(-3), np.True_, 1 + 2j, {3}])
    | ARRAYS
)
VALUES = st.recursive(
    LEAVES,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.tuples(inner, inner)
        | st.dictionaries(st.text(max_size=2) | st.integers(0, 3), inner, max_size=3)
    ),
    max_leaves=5,
)
FLAGS = st.booleans() | st.sampled_from([np.True_, np.False_, 0, 1, None])
RESULTS = st.tuples(
    VALUES | LARGE,
    st.floats() | st.integers(-3, 3) | st.sampled_from([np.float32(0.5), None, "much"]),
    FLAGS,
    FLAGS,
    st.dictionaries(st.text(max_size=2), VALUES | LARGE, max_size=3),
)


@st.composite
def batches(draw: st.DrawFn) -> StepResult:
    """Answers of a vector environment; most are like one another."""
    count = draw(st.sampled_from([3, 3, 3, 1, 0]))
    dtype = draw(st.sampled_from([np.float32, np.float32, np.uint8]))
    width = draw(st.sampled_from([4, 4, 2000]))
    flags = [draw(hnp.arrays(np.bool_, count)) for _ in range(2)]
    info = {"_x": flags[0], "x": np.arange(count)} if draw(st.booleans()) else {}
    observations = draw(st.integers(0, 9)) + np.arange(count * width).astype(dtype)
    rewards = draw(hnp.arrays(np.float64, count))
    return observations.reshape(count, width).astype(dtype), rewards, *flags, info


def codec(name: str, *, vector: bool = False) -> StepCodec:
    if name == "messages":
        return StepCodec(FAMILY, vector=vector)
    return FixedPartsStepCodec(FAMILY, vector=vector)


def area_of(attachments: Attachments) -> Area | None:
    """Returns the received attachments; None if there are none."""
    if not attachments.length:
        return None
    return np.frombuffer(b"".join(attachments.buffers), np.uint8).copy()


PAIRS = list(product(("messages", "fixed parts"), repeat=2))


@pytest.mark.parametrize("beside", [False, True], ids=["inline", "attached"])
@pytest.mark.parametrize("vector", [False, True], ids=["single", "vector"])
@PROFILE
@given(pair=st.sampled_from(PAIRS), data=st.data())
def test_answers_arrive_as_they_were(
    pair: tuple[str, str], beside: bool, vector: bool, data: st.DataObject
) -> None:
    writes, reads = pair
    writer, reader = codec(writes, vector=vector), codec(reads, vector=vector)
    different: st.SearchStrategy[Any] = batches() | RESULTS if vector else RESULTS
    for result in data.draw(st.lists(different, min_size=1, max_size=3)):
        for _ in range(2):  # the second time it is like the last one
            attachments = Attachments() if beside else None
            raw = writer.encode_response(result, attachments)
            area = area_of(attachments) if attachments is not None else None
            assert identical(reader.decode_response(raw, area), arrived(result))


def arrived(result: StepResult) -> StepResult:
    """Returns an answer as protobuf's messages bring it."""
    messages = StepCodec(FAMILY, vector=True)  # flags may be arrays
    read = messages.decode_response(messages.encode_response(result))
    assert read is not None
    return read


@PROFILE
@given(st.sampled_from(PAIRS), st.lists(VALUES, min_size=1, max_size=3), st.integers(1, 2**64 - 1))
def test_requests_arrive_as_they_were(
    pair: tuple[str, str], actions: list[Any], sequence: int
) -> None:
    writes, reads = pair
    writer, reader, reference = codec(writes), codec(reads), StepCodec(FAMILY)
    for action in actions * 2:
        expected = reference.decode_request(reference.encode_request(sequence, action))
        assert expected is not None
        assert identical(reader.decode_request(writer.encode_request(sequence, action)), expected)


STEP = StepCodec(FAMILY).encode_request(3, 1)
ANSWER = StepCodec(FAMILY).encode_response((np.zeros(3), 1.0, False, False, {}))


def requests_that_are_no_plain_steps() -> dict[str, bytes]:
    mirrored, generator, chunk, opaque = (pb.InteractRequest.FromString(STEP) for _ in range(4))
    mirrored.step.mirror_np_random = True
    generator.step.np_random.SetInParent()
    chunk.step.actions.add().int_value = 1
    opaque.step.action.opaque.text = "?"
    return {
        "header": with_header(STEP, session_header("s", b"k")),
        "mirrored": mirrored.SerializeToString(),
        "generator": generator.SerializeToString(),
        "chunk": chunk.SerializeToString(),
        "opaque": opaque.SerializeToString(),
        "no action": pb.InteractRequest(step=pb.StepRequest(sequence=3)).SerializeToString(),
        "reset": pb.InteractRequest(reset=pb.ResetRequest(sequence=3)).SerializeToString(),
        "cut": STEP[:-1],
        "nothing": b"",
    }


def answers_that_are_no_plain_ones() -> dict[str, bytes]:
    warned, mirrored, chunk = (pb.InteractResponse.FromString(ANSWER) for _ in range(3))
    warned.step.warnings.extend(encode_warnings([(UserWarning, "careful")]))
    mirrored.step.random.SetInParent()
    chunk.step.steps.add().reward = 1.0
    return {
        "warned": warned.SerializeToString(),
        "mirrored": mirrored.SerializeToString(),
        "chunk": chunk.SerializeToString(),
        "noticed": ANSWER + pb.InteractResponse(notices=[status_pb2.Notice()]).SerializeToString(),
        "error": pb.InteractResponse(error={"code": 3}).SerializeToString(),
        "reset": pb.InteractResponse(reset=pb.ResetResponse()).SerializeToString(),
        "cut": ANSWER[:-1],
        "nothing": b"",
    }


@pytest.mark.parametrize("name", ["messages", "fixed parts"])
@pytest.mark.parametrize("what", requests_that_are_no_plain_steps())
def test_other_requests_are_left_to_the_caller(name: str, what: str) -> None:
    reader = codec(name)
    for _ in range(2):
        assert reader.decode_request(requests_that_are_no_plain_steps()[what]) is None
        assert reader.decode_request(STEP) == (3, 1)


@pytest.mark.parametrize("name", ["messages", "fixed parts"])
@pytest.mark.parametrize("vector", [False, True], ids=["single", "vector"])
@pytest.mark.parametrize("what", answers_that_are_no_plain_ones())
def test_other_answers_are_left_to_the_caller(name: str, vector: bool, what: str) -> None:
    reader = codec(name, vector=vector)
    for _ in range(2):
        assert reader.decode_response(answers_that_are_no_plain_ones()[what]) is None
        assert reader.decode_response(ANSWER) is not None


@pytest.mark.parametrize("name", ["messages", "fixed parts"])
def test_a_reward_and_flags_may_be_attached_too(name: str) -> None:
    attachments, answer = Attachments(), pb.InteractResponse.FromString(ANSWER)
    columns = np.arange(600.0), np.arange(5000) % 2 == 0, np.arange(5000) % 3 == 0
    typed = answer.step.typed_reward, answer.step.typed_terminated, answer.step.typed_truncated
    for column, value in zip(columns, typed, strict=True):
        encode_value(column, value, attachments=attachments)
    reader, raw = codec(name), answer.SerializeToString()
    for _ in range(2):
        result = reader.decode_response(raw, area_of(attachments))
        assert result is not None
        assert identical(result[1:4], columns)


ORDERS = {
    "a number where the info would be": b"\x11" + bytes(8) + b"\x18\0\x20\0\x29" + bytes(8),
    "a reward behind the flags": b"\x11" + bytes(8) + b"\x18\0\x20\0\x3a\2\x10\1\x32\2\x18\2",
    "a flag sent twice": b"\x11" + bytes(8) + b"\x18\0\x20\0\x3a\0\x3a\2\x10\1\x2a\0",
}


@pytest.mark.parametrize("what", ORDERS)
@pytest.mark.parametrize("vector", [False, True], ids=["single", "vector"])
def test_fields_in_an_order_that_no_writer_has_are_read_as_protobuf_reads_them(
    what: str, vector: bool
) -> None:
    step = b"\x0a\2\x18\2" + ORDERS[what]
    raw = b"\x22" + bytes((len(step),)) + step
    expected = StepCodec(FAMILY).decode_response(raw)
    assert expected is not None
    assert identical(codec("fixed parts", vector=vector).decode_response(raw), expected)


@pytest.mark.parametrize("name", ["messages", "fixed parts"])
def test_what_has_no_wire_form_is_refused_and_nothing_is_left_attached(name: str) -> None:
    writer = codec(name)
    with pytest.raises(CodecError, match="action is a "):
        writer.encode_request(1, object())
    with pytest.raises(CodecError, match="observation"):
        writer.encode_response((object(), 1.0, False, False, {}))
    attachments = Attachments()
    observation = (np.zeros(5000, np.uint8), {3})  # a set is protobuf's
    raw = writer.encode_response((observation, 1.0, False, False, {}), attachments)
    assert attachments.length == 5000
    read = codec(name).decode_response(raw, area_of(attachments))
    assert read is not None
    assert identical(read[0], observation)


@pytest.mark.parametrize(
    ("value", "expected"),
    [(None, FixedPartsStepCodec), ("1", FixedPartsStepCodec), ("0", StepCodec)],
)
def test_a_variable_switches_the_fast_path_off(
    monkeypatch: pytest.MonkeyPatch, value: str | None, expected: type
) -> None:
    monkeypatch.delenv(FASTPATH, raising=False)
    if value is not None:
        monkeypatch.setenv(FASTPATH, value)
    assert type(step_codec(FAMILY)) is type(step_codec(FAMILY, vector=True)) is expected


@pytest.mark.parametrize("name", ["messages", "fixed parts"])
@pytest.mark.parametrize("reward", [np.complex64(1 + 2j), np.array(3j), 2j])
def test_a_complex_reward_has_no_plain_value_and_no_warning(name: str, reward: Any) -> None:
    raw = codec(name).encode_response((0, reward, False, False, {}))
    assert np.isnan(pb.InteractResponse.FromString(raw).step.reward)
    assert identical(codec(name).decode_response(raw)[1], reward)  # type: ignore[index]


def test_the_codec_of_a_device_writes_the_requests_of_any_other() -> None:
    arrays: Any = None  # there are none in it
    for number in (1, 5, 300):
        written = DeviceStepCodec(FAMILY, arrays).encode_request(number, [1, "a"])
        assert written == StepCodec(FAMILY).encode_request(number, [1, "a"])


class Unshared:
    """Memory of a device in which no array has room, and which says that it took all of the next answer."""

    def __init__(self) -> None:
        self.finished = 0

    def begin(self) -> None:
        """Begins an answer."""

    def put(self, *_: Any) -> bool:
        return False

    def repeat_puts(self, _: Any) -> Any:
        return lambda _: True

    def finish(self) -> None:
        self.finished += 1


class Beside(Attachments):
    """The attachments of an end that shares memory."""

    def __init__(self, arrays: Any) -> None:
        super().__init__()
        self.arrays = arrays


def test_an_answer_whose_arrays_are_on_a_device_is_written_again_unless_it_is_as_the_last_one() -> (
    None
):
    arrays: Any = Unshared()
    codec = DeviceStepCodec(FAMILY, arrays, vector=True)
    flags = np.zeros(2, np.bool_)
    plain: StepResult = (np.zeros(2), np.ones(2), flags, flags, {})
    told: StepResult = (*plain[:4], {"key": 1})
    expected = {
        bool(result[4]): StepCodec(FAMILY, vector=True).encode_response(result)
        for result in (plain, told)
    }
    written = list[bytes]()
    for result in (plain, plain, told, plain, plain):
        written.append(codec.encode_response(result, Beside(arrays)))
        assert written[-1] == expected[bool(result[4])]
    assert written[0] is written[1], "in place of writing it again"
    assert written[3] is written[4]
    assert arrays.finished == 5
