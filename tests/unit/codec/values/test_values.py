"""Values arrive unchanged; errors name the path of values that cannot be sent."""

from __future__ import annotations

import enum
import io
import math
import struct
from collections import Counter, OrderedDict, defaultdict, namedtuple
from types import MappingProxyType
from typing import Any

import gymnasium.spaces
import gymnasium.vector
import hypothesis.extra.numpy as hnp
import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

import envwire.envs.spaces
import envwire.envs.vector
from envwire.codec import (
    CodecError,
    Family,
    Opaque,
    decode_mapping,
    decode_value,
    decode_values,
    encode_mapping,
    encode_value,
    encode_values,
    envwire_family,
    gymnasium_family,
)
from envwire.testing.comparing import identical
from envwire.v1 import environment_pb2, values_pb2
from tests.tiers import examples

SETTINGS = examples(120, database=None)
FAMILIES = [
    pytest.param(envwire_family(), id="envwire"),
    pytest.param(gymnasium_family(), id="gym"),
]


def sent(value: Any, *, opaque: bool = False, family: Family | None = None) -> Any:
    """Sends a value over the wire, as bytes."""
    message = values_pb2.Value()
    encode_value(value, message, opaque=opaque)
    parsed = values_pb2.Value.FromString(message.SerializeToString())
    return decode_value(parsed, family or envwire_family())


DTYPES = (
    hnp.boolean_dtypes()
    | hnp.integer_dtypes(endianness="=")
    | hnp.unsigned_integer_dtypes(endianness="=")
    | hnp.floating_dtypes(endianness="=", sizes=(16, 32, 64))
    | hnp.complex_number_dtypes(endianness="=", sizes=(64, 128))
    | hnp.unicode_string_dtypes(endianness="=", max_len=4)
    | hnp.byte_string_dtypes(endianness="=", max_len=4)
    | hnp.datetime64_dtypes(endianness="=")
    | hnp.timedelta64_dtypes(endianness="=")
)
ARRAYS = hnp.arrays(DTYPES, hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=3))
SCALARS = hnp.arrays(DTYPES, ()).map(lambda array: array[()])
PLAIN = (
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.integers(-(2**600), 2**600)
    | st.floats()
    | st.complex_numbers()
    | st.text()
    | st.binary()
)
KEYS = st.text() | st.integers() | st.binary() | st.none() | st.tuples(st.text(), st.integers())


def objects(values: list[Any]) -> Any:
    return np.fromiter(values, object, len(values))


def nested(children: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    lists = st.lists(children, max_size=4)
    return (
        lists | lists.map(tuple) | lists.map(objects) | st.dictionaries(KEYS, children, max_size=4)
    )


VALUES = st.recursive(PLAIN | ARRAYS | SCALARS | st.sets(PLAIN), nested, max_leaves=12)


@SETTINGS
@given(VALUES)
def test_any_value_arrives_as_it_was(value: Any) -> None:
    assert identical(sent(value), value)


@SETTINGS
@given(VALUES)
def test_falling_back_changes_nothing_that_has_a_wire_form(value: Any) -> None:
    assert identical(sent(value, opaque=True), value)


@SETTINGS
@given(ARRAYS)
def test_arrays_arrive_fresh(array: Any) -> None:
    message = values_pb2.Value()
    encode_value(array, message)
    first, second = (decode_value(message, None) for _ in range(2))
    for arrived in (first, second):
        assert arrived.flags.writeable
        assert arrived.flags.owndata
        assert arrived.flags.c_contiguous
        assert arrived.flags.aligned
        assert arrived.dtype.isnative
        assert repr(arrived.dtype) == repr(array.dtype)
    assert not np.shares_memory(first, second)


@pytest.mark.parametrize(
    "value",
    [
        -0.0,
        math.inf,
        struct.unpack("d", struct.pack("Q", 0xFFF8_0000_0000_1234))[0],  # NaN with a payload
        complex(-0.0, math.nan),
        2**63 - 1,
        2**63,
        -(2**63),
        -(2**63) - 1,
        2**128,
        True,
        "",
        "\0",
        b"",
        (),
        [],
        {},
        set(),
        pytest.param({1, "a", None, (2, b"b")}, id="a set"),
        {"": 0, 1: 1, None: 2, (1, ("x",)): 3, b"k": 4, np.int64(5): 5, np.str_("s"): 6, 0.5: 7},
        {"z": 1, "a": {"y": [1, (2, np.float32(3))]}},
        np.float32(1.5),
        np.float64(-0.0),
        np.bool_(True),
        np.str_("ä"),
        np.str_(""),
        np.bytes_(b"ab"),
        np.datetime64("NaT"),
        np.timedelta64(5, "25s"),
        np.array(3.0),
        np.array([], dtype=np.int16),
        np.zeros((2, 0, 3), np.complex64),
        np.array(["a", "bcd"]),
        np.array([b"a", b"bcd"]),
        np.array(["2020-01-01", "NaT"], "M8[ns]"),
        np.array([None, {"a": np.arange(2)}, [1]], object),
        np.array(7, object),
        np.empty((0, 2), object),
        pytest.param(io.StringIO("a\r\nb\n"), id="a text stream"),
    ],
    ids=repr,
)
def test_exact_values(value: Any) -> None:
    assert identical(sent(value), value)


def test_a_text_stream_can_be_read_from_its_beginning() -> None:
    stream = io.StringIO()
    stream.write("one\ntwo")
    assert sent(stream).read() == "one\ntwo"


@pytest.mark.parametrize(
    "array",
    [
        np.arange(6, dtype=">i4").reshape(2, 3),
        np.arange(12.0).reshape(3, 4)[::2, ::-1],
        np.asfortranarray(np.arange(6, dtype=np.float16).reshape(2, 3)),
        np.array(["a", "bc"], ">U2"),
        np.array([1, 2], ">M8[s]"),
        np.broadcast_to(np.float32(2), (3, 2)),
    ],
    ids=lambda array: f"{array.dtype.str}{array.strides}",
)
def test_any_layout_arrives_native_and_contiguous(array: Any) -> None:
    arrived = sent(array)
    assert identical(arrived, np.ascontiguousarray(array).astype(array.dtype.newbyteorder("=")))


def test_elements_are_little_endian_on_the_wire() -> None:
    for order in "<>":
        message = values_pb2.Value()
        encode_value(np.array([1, 258], f"{order}u2"), message)
        assert message.array.data == b"\x01\x00\x02\x01"


Point = namedtuple("Point", "x y")  # noqa: PYI024 - the untyped kind is meant


class Word(str):
    __slots__ = ()


class Color(enum.Enum):
    RED = 1


class Level(enum.IntEnum):
    HIGH = 3


class Flag(str, enum.Enum):
    UP = "up"


@pytest.mark.parametrize(
    ("value", "arrived"),
    [
        (OrderedDict(b=1, a=2), {"b": 1, "a": 2}),
        (Level.HIGH, Level.HIGH.value),
        (Flag.UP, Flag.UP.value),
        (defaultdict(int, {"a": 1}), {"a": 1}),
        (Counter("aab"), {"a": 2, "b": 1}),
        (Point(1, 2.0), (1, 2.0)),
        (Word("w"), "w"),
        ({Word("w"): 1}, {"w": 1}),
        (type("Many", (list,), {})([1]), [1]),
        (type("Tiny", (np.float32,), {})(1.5), np.float32(1.5)),
        (np.longlong(3), np.int64(3)),
        (io.TextIOWrapper, Opaque("builtins.type", "<class '_io.TextIOWrapper'>")),
    ],
    ids=repr,
)
def test_subclasses_travel_as_what_they_extend(value: Any, arrived: Any) -> None:
    assert identical(sent(value, opaque=True), arrived)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize(
    "source", [envwire.envs.spaces, gymnasium.spaces], ids=lambda m: m.__name__
)
def test_graphs_cross_families(source: Any, family: Family) -> None:
    nodes, links = np.arange(4.0).reshape(2, 2), np.array([[0, 1]], np.int32)
    for parts in [(nodes, np.array([3]), links), (nodes, None, None), (("a",), ("b", "c"), links)]:
        arrived = sent([source.GraphInstance(*parts)], family=family)[0]
        assert type(arrived) is family.GraphInstance
        assert identical(tuple(arrived), parts)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize(
    "source", [envwire.envs.vector, gymnasium.vector], ids=lambda m: m.__name__
)
def test_autoreset_modes_cross_families(source: Any, family: Family) -> None:
    for mode in source.AutoresetMode:
        assert sent({"autoreset_mode": mode}, family=family) == {
            "autoreset_mode": family.AutoresetMode[mode.name]
        }


def test_a_family_without_autoreset_modes_gets_a_stand_in() -> None:
    family = envwire_family()
    old = Family(**{**vars(family), "AutoresetMode": None})
    mode = envwire.envs.vector.AutoresetMode.SAME_STEP
    assert sent(mode, family=old) == Opaque("AutoresetMode", "AutoresetMode.SAME_STEP")


class Unprintable:
    def __repr__(self) -> str:
        raise RuntimeError("no")


class Alike:
    def __repr__(self) -> str:
        return "alike"


class FrozenDict(dict):
    def __hash__(self) -> int:
        return 1


class Unreadable(dict):
    def items(self) -> Any:
        raise RuntimeError("locked")


def closed_stream() -> io.StringIO:
    stream = io.StringIO()
    stream.close()
    return stream


def holding_itself() -> list[Any]:
    ring: list[Any] = [1]
    ring += [ring, ring, {"ring": ring}, (ring,), np.array([None, None])]
    ring[-1][0] = ring
    return ring


def deep(levels: int, wrap: Any = lambda value: [value]) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = wrap(value)
    return value


def in_dict(value: Any) -> dict[str, Any]:
    return {"k": value}


WITHOUT_WIRE_FORM = {
    "object": object(),
    "class": int,
    "function": len,
    "generator": (i for i in ()),
    "enum": Color.RED,
    "frozenset": frozenset({1}),
    "bytearray": bytearray(b"a"),
    "range": range(3),
    "mapping": MappingProxyType({}),
    "ellipsis": ...,
    "rng": np.random.default_rng(1),
    "masked array": np.ma.masked_array([1, 2], [True, False]),
    "matrix": np.zeros((1, 1)).view(np.matrix),
    "record array": np.zeros(2, [("a", "f4")]).view(np.recarray),
    "structured": np.zeros(2, [("a", "f4")]),
    "void": np.void(b"ab"),
    "long double": np.zeros(2, np.longdouble),
    "long double scalar": np.longdouble(1),
    "complex long double": np.zeros(2, np.clongdouble),
    "empty text dtype": np.ndarray((3,), "<U0"),
    "surrogate": "a\ud800",
    "surrogate key": {"\udc80": 1},
    "surrogate stream": io.StringIO("\ud800"),
    "NUL text": np.str_("a\0"),
    "closed stream": closed_stream(),
    "unprintable": Unprintable(),
    "unreadable": Unreadable(),
    "object key": {Color.RED: 1},
    "frozen dict key": {FrozenDict(): 1},
    "frozen dict element": {FrozenDict()},
    "ring": holding_itself(),
    "deep list": deep(60),
    "very deep list": deep(5000),
    "deep dict": deep(40, in_dict),
    "deep array": deep(50, lambda value: objects([value])),
}


@pytest.mark.parametrize("value", WITHOUT_WIRE_FORM.values(), ids=WITHOUT_WIRE_FORM.keys())
def test_what_has_no_wire_form_is_refused_or_stood_in_for(value: Any) -> None:
    with pytest.raises(CodecError, match=r"^value") as caught:
        encode_value(value, values_pb2.Value())
    assert caught.value.path.startswith("value")
    arrived = sent([1, value, {"k": value}], opaque=True)
    assert arrived[0] == 1
    assert identical(arrived, sent([1, value, {"k": value}], opaque=True))
    assert "Opaque(" in repr(arrived)


def test_stand_ins_say_what_they_stand_for() -> None:
    assert sent(Color.RED, opaque=True) == Opaque(f"{__name__}.Color", "<Color.RED: 1>")
    assert sent(Unprintable(), opaque=True).text == "<repr raised RuntimeError>"
    assert len(sent(frozenset(range(1000)), opaque=True).text) == 1000
    assert sent(frozenset({"\ud800"}), opaque=True).text == r"frozenset({'\ud800'})"
    assert sent(Opaque("a.B", "<B>"), opaque=True) == Opaque("a.B", "<B>")  # through two servers


def test_stand_ins_of_different_keys_stay_apart() -> None:
    keys = [Alike(), Alike(), (Alike(), 1), (Alike(), 1), FrozenDict(), 1, "alike"]
    arrived = sent(dict.fromkeys(keys, 0), opaque=True)
    assert len(arrived) == len(keys)
    assert [key.text for key in arrived if isinstance(key, Opaque)][:2] == ["alike", "alike'"]


def test_only_the_offending_part_is_stood_in_for() -> None:
    arrived = sent({"ok": np.arange(2), "bad": [1, len], 2: Color.RED}, opaque=True)
    assert identical(arrived["ok"], np.arange(2))
    assert arrived["bad"] == [1, Opaque("builtins.builtin_function_or_method", repr(len))]
    assert isinstance(arrived[2], Opaque)


def test_the_same_container_twice_is_not_a_ring() -> None:
    part = [1]
    assert sent([part, part, {"p": part}]) == [[1], [1], {"p": [1]}]


@pytest.mark.parametrize(("wrap", "levels"), [(lambda value: [value], 43), (in_dict, 28)])
def test_the_deepest_values_survive_the_longest_envelope(wrap: Any, levels: int) -> None:
    # A wrapper's argument in a listing on the stream has the most messages around it.
    response = environment_pb2.InteractResponse()
    spec = response.list_environments.environments.add().spec
    value = {"k": deep(levels, wrap)}
    encode_mapping(value, spec.additional_wrappers.add().kwargs)
    parsed = environment_pb2.InteractResponse.FromString(response.SerializeToString())
    spec = parsed.list_environments.environments[0].spec
    assert decode_mapping(spec.additional_wrappers[0].kwargs, None) == value
    with pytest.raises(CodecError, match="nested too deeply"):
        encode_mapping({"k": deep(levels + 1, wrap)}, values_pb2.ValueMap())


class Odd:
    """Has no wire form."""


@pytest.mark.parametrize(
    ("value", "path"),
    [
        (Odd(), "action"),
        ([0, [Odd()]], "action[1][0]"),
        ({"goal": [1, 2, 3, Odd()]}, 'action["goal"][3]'),
        ({"a": (1, {2: {Odd()}})}, 'action["a"][1][2][0]'),
        ({(1, "k"): Odd()}, "action[(1, 'k')]"),
        (objects([1, Odd()]), "action[1]"),
        (envwire.envs.spaces.GraphInstance(np.zeros(1), [Odd()], None), "action.edges[0]"),
        ({"k" * 99: Odd()}, 'action["' + "k" * 59 + "...]"),
    ],
)
def test_errors_name_the_path(value: Any, path: str) -> None:
    with pytest.raises(CodecError) as caught:
        encode_value(value, values_pb2.Value(), "action")
    assert caught.value.path == path
    assert str(caught.value).startswith(
        f"{path} is a {__name__}.Odd; expected None, a bool, a number"
    )


def test_mappings_and_lists_of_values() -> None:
    info = {"b": 1, 2: (np.float32(3), None), "a": {}}
    message = values_pb2.ValueMap()
    encode_mapping(MappingProxyType(info), message, "info")
    assert identical(decode_mapping(message, None), info)
    args = [1, "a", np.arange(3), [2]]
    items = values_pb2.ValueList()
    encode_values(tuple(args), items)
    assert identical(decode_values(items, None), args)
    with pytest.raises(CodecError, match=r'^info\["a"\]\[0\] is '):
        encode_mapping({"a": [Odd()]}, values_pb2.ValueMap(), "info")
    with pytest.raises(CodecError, match=r"^args\[1\] is "):
        encode_values([1, Odd()], values_pb2.ValueList(), "args")
    with pytest.raises(CodecError, match=r"^info is a builtins\.NoneType; expected"):
        encode_mapping(None, values_pb2.ValueMap(), "info")
    for odd in ({"a": Odd(), Odd(): 1, FrozenDict(): 2}, {}):
        encode_mapping(odd, message := values_pb2.ValueMap(), "info", opaque=True)
        assert len(decode_mapping(message, None)) == len(odd)


def test_receivers_may_refuse_stand_ins() -> None:
    message = values_pb2.Value()
    encode_value([Odd()], message, opaque=True)
    assert isinstance(decode_value(message, None)[0], Opaque)
    with pytest.raises(CodecError, match=r"^action\[0\] is a stand-in for a .*Odd; expected"):
        decode_value(message, None, "action", opaque=False)
