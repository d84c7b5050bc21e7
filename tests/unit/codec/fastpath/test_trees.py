"""Containers by their fixed parts: the same bytes and values as protobuf's, for all changes."""

from __future__ import annotations

from collections import Counter, OrderedDict, namedtuple
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from envwire.codec import CodecError, encode_mapping, encode_value, envwire_family
from envwire.codec.fastpath import trees
from envwire.codec.fastpath import values as remembered
from envwire.codec.fastpath.leaves import UNKNOWN
from envwire.codec.fastpath.step_codec import FixedPartsStepCodec
from envwire.codec.fastpath.step_responses import StepResponseReader, StepResponseWriter
from envwire.codec.fastpath.values import TreeReader, TreeWriter, ValueReader, ValueWriter
from envwire.codec.values.encoding import decode_value
from envwire.codec.values.tensors import SCALAR_TYPES
from envwire.testing.comparing import identical
from envwire.v1 import environment_pb2, values_pb2
from envwire.wire.frames import ALIGNMENT, Area, Attachments
from envwire.wire.varints import tag
from tests.tiers import examples

PROFILE = examples(150)
Strategy = st.SearchStrategy[Any]
FAMILY = envwire_family()
INFO = tag(environment_pb2.StepResponse, "info")
LARGE = np.arange(5000, dtype=np.uint8)


def _large(dtype: Any) -> Strategy:
    return st.integers(0, 9).map(lambda number: np.full((70, 80), number, dtype))


#: What stands in one field, step after step.
LEAVES: st.SearchStrategy[Strategy] = st.sampled_from(
    [
        st.none(),
        st.booleans(),
        st.integers(-70, 70),
        st.integers(-(2**63), 2**63 - 1),
        st.floats(),
        st.text(max_size=3),
        st.sampled_from(["", "ä" * 63, "ä" * 64, "x" * 20000]),
        st.binary(max_size=3),
        st.booleans() | st.floats() | st.just(np.float64(2)),
        hnp.arrays(np.float32, 3),
        hnp.arrays(np.bool_, (2, 2)),
        hnp.arrays(np.complex64, ()),
        hnp.arrays(np.int16, st.tuples(st.integers(1, 3), st.integers(1, 3))),
        hnp.arrays(np.float64, (2, 3)).map(np.transpose),
        _large(np.uint8),
        _large(np.float32),
        _large(np.bool_),
        *(hnp.arrays(np.dtype(kind), ()).map(lambda array: array[()]) for kind in SCALAR_TYPES),
    ]
)
NAMES = st.text(max_size=3) | st.just("n" * 200)


def _containers(children: st.SearchStrategy[Strategy]) -> st.SearchStrategy[Strategy]:
    rows = st.lists(children, max_size=3).map(lambda parts: st.tuples(*parts))
    tables = st.dictionaries(NAMES, children, max_size=3).map(st.fixed_dictionaries)
    return rows | rows.map(lambda row: row.map(list)) | tables


KINDS = st.recursive(LEAVES, _containers, max_leaves=6)


def built(value: Any, attachments: Attachments | None = None) -> bytes:
    """Returns a Value as protobuf writes it."""
    message = values_pb2.Value()
    encode_value(value, message, attachments=attachments)
    return message.SerializeToString()


def received(reader: ValueReader, raw: bytes, area: Area | None = None) -> Any:
    """Returns a value as a client reads it."""
    read = reader.read(raw, 0, len(raw), area)
    if read is UNKNOWN:
        read = decode_value(values_pb2.Value.FromString(raw), FAMILY, area=area)
        reader.learn(read)
    return read


def area_of(attachments: Attachments) -> Area:
    return np.frombuffer(bytearray(b"".join(attachments.buffers)), np.uint8)


@PROFILE
@given(KINDS, st.data(), st.booleans())
def test_values_of_one_kind_are_protobufs_bytes_and_values(
    kind: Strategy, data: st.DataObject, attach: bool
) -> None:
    writer, reader = ValueWriter(), ValueReader()
    for _ in range(4):
        value = data.draw(kind)
        ours, theirs = Attachments(), Attachments()
        parts = writer.parts(value, ours if attach else None)
        raw = built(value, theirs if attach else None)
        assert parts is not None
        assert b"".join(parts) == raw
        assert [bytes(part) for part in ours.buffers] == [bytes(part) for part in theirs.buffers]
        area = area_of(ours) if attach else None
        received(reader, raw, area)
        assert identical(reader.read(raw, 0, len(raw), area), value)


@PROFILE
@given(st.lists(KINDS.flatmap(lambda kind: kind), min_size=2, max_size=5))
def test_values_of_changing_kinds_are_protobufs_or_left_to_it(values: list[Any]) -> None:
    writer, reader = ValueWriter(), ValueReader()
    for value in values:
        raw = built(value)
        assert writer.write(value) in {None, raw}
        assert identical(received(reader, raw), value)


@PROFILE
@given(st.dictionaries(NAMES, KINDS, min_size=1, max_size=4), st.data())
def test_infos_are_protobufs_bytes(kinds: dict[str, Strategy], data: st.DataObject) -> None:
    writer, reader = TreeWriter(INFO), TreeReader(INFO)
    for _ in range(3):
        info = data.draw(st.fixed_dictionaries(kinds))
        parts, step = writer.parts(info), environment_pb2.StepResponse()
        encode_mapping(info, step.info)
        raw = step.SerializeToString()
        assert parts is not None
        assert b"".join(parts) == raw
        reader.learn(info)
        assert identical(reader.read(raw, 0, len(raw)), info)


Point = namedtuple("Point", "x y")  # noqa: PYI024 - the untyped kind is meant


class Word(str):
    __slots__ = ()


def _ring() -> list[Any]:
    ring: list[Any] = []
    ring.append(ring)
    return ring


def _deep(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = (value,)
    return value


STRANGE = {
    "other key": {1: 1},
    "text of a subclass as key": {Word("a"): 1},
    "NumPy's text as key": {np.str_("a"): 1},
    "ordered": OrderedDict(a=1),
    "counted": Counter("a"),
    "named": Point(1, 2),
    "word": [Word("a")],
    "large integer": (2**63,),
    "complex": [1j],
    "set": {"a": {1}},
    "object": [object()],
    "empty array": {"a": np.zeros(0)},
    "foreign order": (np.zeros(2, ">f8"),),
    "texts": [np.array(["a"])],
    "objects": (np.array([None]),),
    "masked": [np.ma.masked_array([1, 2], [True, False])],
    "surrogate": {"a": "\ud800"},
    "surrogate key": {"\ud800": 1},
    "ring": _ring(),
    "deep": _deep(trees._MAX_LEVELS + 1),
    "many": [0] * trees._MAX_NODES,
}


@pytest.mark.parametrize("value", STRANGE.values(), ids=STRANGE)
def test_strange_values_are_left_to_protobuf_and_leave_nothing_behind(value: Any) -> None:
    attachments = Attachments()
    for like in ({"a": 1}, (1,), [1]):
        writer = ValueWriter()
        assert writer.write(like) == built(like)
        assert writer.parts((LARGE, value), attachments) is None
        assert writer.parts(value, attachments) is None
    assert (attachments.buffers, attachments.length) == ([], 0)


def test_infos_that_protobuf_attached_are_read() -> None:
    reader, info = TreeReader(INFO), {"a": LARGE, "b": {"c": 1, "d": (LARGE + 1, LARGE > 7)}}
    reader.learn(info)
    for first in (b"", LARGE.tobytes()):
        step, attachments = environment_pb2.StepResponse(), Attachments()
        attachments.add(np.frombuffer(first, np.uint8))
        encode_mapping(info, step.info, attachments=attachments)
        raw, area = step.SerializeToString(), area_of(attachments)
        assert identical(reader.read(raw, 0, len(raw), area), info)
        assert reader.read(raw, 0, len(raw), area[:-1]) is UNKNOWN
        assert reader.read(raw, 0, len(raw)) is UNKNOWN


@pytest.mark.parametrize("levels", [trees._MAX_LEVELS, trees._MAX_LEVELS - 1])
def test_the_deepest_and_the_widest_trees(levels: int) -> None:
    for value in (_deep(levels), [0] * (trees._MAX_NODES - 1)):
        assert ValueWriter().write(value) == built(value)


def test_names_of_another_order_or_equal_ones_of_other_objects() -> None:
    writer, reader = ValueWriter(), ValueReader()
    first, second = {"name": 1, "other": 2.0}, {"other": 2.0, "name": 1}
    equal: dict[str, Any] = {"".join("name"): 5, "".join("other"): -0.0}
    for value in (first, second, first, equal):
        raw = writer.write(value)
        assert raw == built(value)
        assert identical(received(reader, raw), value)
    assert writer.write({Word("name"): 1, "other": 2.0}) is None


def test_large_arrays_of_an_observation_go_beside_and_those_of_an_info_do_not() -> None:
    writer, reader = StepResponseWriter(), StepResponseReader(FAMILY)
    for step in range(3):
        observation = {
            "camera": LARGE + step,
            "flag": (LARGE + step) % 2 == 0,
            "small": np.arange(2),
        }
        result = (observation, 0.5, False, True, {"frame": LARGE - step, "n": step * 1000})
        attachments = Attachments()
        raw = writer.write(result, attachments)
        assert raw is not None
        assert attachments.length == -(-LARGE.nbytes // ALIGNMENT) * ALIGNMENT + LARGE.nbytes
        assert LARGE.nbytes < len(raw) < LARGE.nbytes + 200
        assert identical(reader.read(raw, area_of(attachments)), result)
        short = area_of(attachments)[:-1]
        assert reader.read(raw, short) is None
        with pytest.raises(CodecError, match="attached"):
            FixedPartsStepCodec(FAMILY).decode_response(raw, short)


def test_arrays_arrive_fresh() -> None:
    value = {"a": np.arange(4.0), "b": (np.ones((2, 3), np.int8).T, [np.array(3)])}
    raw, reader = built(value), ValueReader()
    reader.learn(value)
    first, second = (reader.read(raw, 0, len(raw)) for _ in range(2))
    for one, other in ((first["a"], second["a"]), (first["b"][0], second["b"][0])):
        assert one.flags.writeable
        assert one.flags.owndata
        assert one.flags.c_contiguous
        assert not np.shares_memory(one, other)
    assert first is not second
    assert first["b"][1] is not second["b"][1]


@PROFILE
@given(st.data())
def test_damaged_trees_are_left_to_protobuf_or_read_alike(data: st.DataObject) -> None:
    value = {"a": np.arange(2), "t": (300, "text", None, [True]), "": 1.5, "s": np.bool_(1)}
    reader, whole = ValueReader(), bytearray(built(value))
    reader.learn(value)
    for _ in range(data.draw(st.integers(1, 3))):
        whole[data.draw(st.integers(0, len(whole) - 1))] = data.draw(st.integers(0, 255))
    cut = bytes(whole[: data.draw(st.integers(0, len(whole)))])
    read = reader.read(cut, 0, len(cut))
    if read is not UNKNOWN:
        assert identical(read, decode_value(values_pb2.Value.FromString(cut), FAMILY))


@pytest.mark.parametrize(
    ("learnt", "changing"),
    [
        ("layout_of", [np.zeros(length) for length in range(1, 300)]),
        ("build_template", [(0,) * length for length in range(1, 300)]),
        ("build_template", [{"x": object()}] * 299),
    ],
    ids=["arrays", "tuples", "objects"],
)
def test_places_that_learn_in_vain_stop_and_begin_again(
    learnt: str, changing: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    counted, learn = Counter[str](), getattr(remembered, learnt)

    def counting(*args: Any) -> Any:
        counted[learnt] += 1
        return learn(*args)

    monkeypatch.setattr(remembered, learnt, counting)
    writer, reader = ValueWriter(), ValueReader()
    for value in changing:
        writer.write(value)
        reader.learn(value)  # what was read was like none before
    most = remembered._TRIES + len(changing) // remembered._AGAIN
    assert counted[learnt] == 2 * most
    same = changing[0] if learnt == "layout_of" else (1, 2)
    raw = built(same)
    for _ in range(remembered._AGAIN + 1):
        written = writer.write(same)
        assert identical(received(reader, raw), same)
    assert written == raw
    assert identical(reader.read(raw, 0, len(raw)), same)
    assert counted[learnt] == 2 * (most + 1)
