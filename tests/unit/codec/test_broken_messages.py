"""Messages that break the contract are refused; none of them crashes or takes memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from google.protobuf import text_format
from google.protobuf.message import DecodeError

from envwire.codec import (
    CodecError,
    decode_random_state,
    decode_space,
    decode_value,
    encode_space,
    encode_value,
    envwire_family,
    gymnasium_family,
)
from envwire.envs import spaces
from envwire.v1 import spaces_pb2, values_pb2
from tests.each import each
from tests.space_catalogue import catalogue

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from google.protobuf.message import Message

FLOATS = "data_type: DATA_TYPE_FLOAT32"
NAMED = "data_type: DATA_TYPE_NUMPY"


def tensor(text: str) -> str:
    return f"array {{ {text} }}"


BROKEN_VALUES = {
    "no kind": ("", "v is of no kind"),
    "no kind inside": ("list { values { none {} } values {} }", r"v\[1\] is of no kind"),
    "no element type": ("array { shape: 1 data: 'a' }", "v is of element type 0"),
    "new element type": ("array { data_type: 99 }", "v is of element type 99"),
    "too short": (tensor(f"{FLOATS} shape: 2 data: 'abcd'"), r"v is 4 bytes .* 8 bytes for shape"),
    "too long": (tensor(f"{FLOATS} data: 'abcdefgh'"), "v is 8 bytes of data; expected 4 bytes"),
    "no data": (tensor(f"{FLOATS} shape: 18446744073709551615"), "v is 0 bytes of data"),
    "shape that overflows": (
        tensor(f"{FLOATS} shape: [4294967296, 4294967296]"),
        "v is 0 bytes of data; expected 73786976294838206464 bytes",
    ),
    "empty but too long": (
        tensor(f"{FLOATS} shape: [9223372036854775808, 0]"),
        r"v is of shape \(9223372036854775808, 0\)",
    ),
    "too many axes": (tensor(f"{FLOATS} data: 'abcd' shape: {[1] * 65}"), "v is of shape"),
    "boolean of 2": (tensor(r"data_type: DATA_TYPE_BOOL shape: 2 data: '\001\002'"), "v is a bool"),
    "code point": (
        tensor(rf"{NAMED} numpy_type: '<U1' data: '\377\377\377\377'"),
        "v is text with a code point",
    ),
    "fill without data": (tensor(f"{FLOATS} shape: 2 fill: true"), "v is 0 bytes of data"),
    "fill with more": (tensor(f"{FLOATS} shape: 2 fill: true data: 'abcdefgh'"), "v is 8 bytes"),
    "large fill": (
        tensor(f"{FLOATS} shape: [65536, 65536] fill: true data: 'abcd'"),
        "v is 17179869184 bytes from a few",
    ),
    "large fill in parts": (
        "list {"
        + "values { array { data_type: 6 shape: 150000000 fill: true data: 'a' } }" * 2
        + "}",
        r"v\[1\] is 150000000 bytes",
    ),
    "large fill of wide texts": (
        tensor(f"{NAMED} numpy_type: '|S64' shape: 134217728 fill: true data: '{'a' * 64}'"),
        "v is 8589934592 bytes",
    ),
    "scalar with axes": (f"scalar {{ {FLOATS} shape: 1 data: 'abcd' }}", r"v is a scalar of shape"),
    "few objects": ("object_array { shape: 2 values { none {} } }", "v is 1 values; expected 2"),
    "objects of a long shape": (
        "object_array { shape: [9223372036854775808, 0] }",
        "v is of shape",
    ),
    "key missing": ("dict { entries { value { none {} } } }", r"v\.key is of no kind"),
    "value missing": ("dict { entries { name: 'a' } }", r'v\["a"\] is of no kind'),
    "key twice": (
        "dict {" + "entries { name: 'a' value { none {} } }" * 2 + "}",
        r'v\["a"\] is there twice',
    ),
    "equal keys": (
        "dict { entries { other { int_value: 1 } value { none {} } }"
        "entries { other { bool_value: true } value { none {} } } }",
        r"v\[True\] is there twice",
    ),
    "list as a key": (
        "dict { entries { other { list {} } value { none {} } } }",
        r"v\.key is not hashable",
    ),
    "list in a tuple as a key": (
        "dict { entries { other { tuple { values { list {} } } } value { none {} } } }",
        r"v\.key is not hashable",
    ),
    "list in a set": ("set { values { list {} } }", "v is a set with an unhashable element"),
    "graph without nodes": ("graph {}", r"v\.nodes is of no kind"),
    "unknown enumeration": (
        "enum_member { enumeration: 'Color' member: 'RED' }",
        "v is a member of",
    ),
    "unknown member": (
        "enum_member { enumeration: 'AutoresetMode' member: 'RED' }",
        r"v is AutoresetMode\.RED; expected one of \['NEXT_STEP'",
    ),
}
for name in (
    "<f4",
    "f4,f4",
    "O",
    "|V4",
    "<U0",
    "|S0",
    "U5",
    "<U4294967296",
    "<M8[parsec]",
    ">M8[s]",
):
    BROKEN_VALUES[f"NumPy type {name}"] = (
        tensor(f"{NAMED} numpy_type: '{name}' data: 'abcd'"),
        "v is of",
    )


@each(("text", "message"), BROKEN_VALUES)
def test_broken_values(text: str, message: str) -> None:
    value = text_format.Parse(text, values_pb2.Value())
    with pytest.raises(CodecError, match=message):
        decode_value(value, envwire_family(), "v")


def test_values_may_be_nested_only_so_deep() -> None:
    value = message = values_pb2.Value()
    for _ in range(200):
        message = message.list.values.add()
    message.none.SetInParent()
    with pytest.raises(CodecError, match="nested too deeply"):
        decode_value(value, None)


@pytest.mark.parametrize(
    "text",
    [
        "graph { nodes { none {} } }",
        "enum_member { enumeration: 'AutoresetMode' member: 'DISABLED' }",
    ],
)
def test_without_a_family_there_are_no_family_values(text: str) -> None:
    value = text_format.Parse(f"list {{ values {{ {text} }} }}", values_pb2.Value())
    with pytest.raises(CodecError, match=r"value\[0\] is of"):
        decode_value(value, None)


BYTE = "data_type: DATA_TYPE_UINT8 data: '\\001'"
ZERO = "data_type: DATA_TYPE_UINT8 data: '\\000'"
BOOL = "data_type: DATA_TYPE_BOOL data: '\\001'"
DISCRETE = "discrete { n: 2 data_type: DATA_TYPE_INT64 }"
BROKEN_SPACES = {
    "no kind": ("", "s is of no kind"),
    "empty box": ("box {}", r"s\.low is of element type 0"),
    "box of two types": (f"box {{ low {{ {BYTE} }} high {{ {BOOL} }} }}", r"s\.high is bool"),
    "box with half its flags": (
        f"box {{ low {{ {BYTE} }} high {{ {BYTE} }} bounded_above {{ }} }}",
        r"s\.bounded_above is of element type 0",
    ),
    "box with odd flags": (
        f"box {{ low {{ {BYTE} }} high {{ {BYTE} }} bounded_below {{ {BYTE} }} }}",
        r"s\.bounded_below is uint8 of shape \(\); expected bool",
    ),
    "box upside down": (
        f"box {{ low {{ {BYTE} }} high {{ {ZERO} }} }}",
        "s is a Box that .* refuses",
    ),
    "complex box": (
        "box { low { data_type: DATA_TYPE_COMPLEX64 data: 'abcdefgh' }"
        " high { data_type: DATA_TYPE_COMPLEX64 data: 'abcdefgh' } }",
        "s is a Box that .* refuses",
    ),
    "discrete of none": (
        "discrete { data_type: DATA_TYPE_INT8 }",
        "s is a Discrete that .* refuses",
    ),
    "discrete without type": ("discrete { n: 1 }", r"s\.data_type is of element type 0"),
    "discrete of floats": ("discrete { n: 1 data_type: 12 }", r"s\.data_type is of type float64"),
    "discrete too large": (
        "discrete { n: 128 data_type: 2 }",
        r"s\.n is 128; expected a number of int8",
    ),
    "discrete too low": ("discrete { n: 1 start: -1 data_type: 6 }", r"s\.start is -1; expected"),
    "flat with axes": ("multi_binary { shape: [2, 2] flat: true }", "s is flat with the shape"),
    "flat without axes": ("multi_binary { flat: true }", "s is flat with the shape"),
    "multi binary of none": ("multi_binary { shape: 0 }", "s is a MultiBinary that .* refuses"),
    "huge multi binary": ("multi_binary { shape: 4294967296 }", "s is 8589934592 bytes"),
    "multi discrete of none": (
        f"multi_discrete {{ nvec {{ {ZERO} }} start {{ {ZERO} }} }}",
        "s is a MultiDiscrete that .* refuses",
    ),
    "multi discrete without start": (f"multi_discrete {{ nvec {{ {BYTE} }} }}", r"s\.start is of"),
    "text upside down": ("text { min_length: 3 max_length: 2 }", "s is a Text that .* refuses"),
    "text with repetitions": (
        "text { max_length: 2 characters: 'aba' }",
        r"s\.characters is an alph",
    ),
    "dict without key": (
        f"dict {{ entries {{ space {{ {DISCRETE} }} }} }}",
        r"s\.key is of no kind",
    ),
    "dict without space": (
        "dict { entries { key { string_value: 'a' } } }",
        r's\["a"\] is of no kind',
    ),
    "dict with a list as key": ("dict { entries { key { list {} } } }", r"s\.key is not hashable"),
    "dict with a key twice": (
        "dict {" + f"entries {{ key {{ int_value: 1 }} space {{ {DISCRETE} }} }}" * 2 + "}",
        r"s\[1\] is there twice",
    ),
    "tuple of nothing": ("tuple { spaces {} }", r"s\[0\] is of no kind"),
    "no choice": ("one_of {}", "s is a OneOf that .* refuses"),
    "sequence of nothing": ("sequence {}", r"s\.feature_space is of no kind"),
    "graph without nodes": ("graph {}", r"s\.node_space is of no kind"),
    "broken edges": (
        f"graph {{ node_space {{ {DISCRETE} }} edge_space {{}} }}",
        r"s\.edge_space is of no kind",
    ),
    "broken generator": (f"{DISCRETE} np_random {{}}", r"s\.np_random is a bit generator ''"),
}


@pytest.mark.parametrize("family", [envwire_family(), gymnasium_family()], ids=lambda f: f.name)
@each(("text", "message"), BROKEN_SPACES)
def test_broken_spaces(text: str, message: str, family: Any) -> None:
    space = text_format.Parse(text, spaces_pb2.Space())
    with pytest.raises(CodecError, match=message):
        decode_space(space, family, "s")


def test_spaces_may_be_nested_only_so_deep() -> None:
    space = message = spaces_pb2.Space()
    for _ in range(200):
        message = message.tuple.spaces.add()
    with pytest.raises(CodecError, match="nested too deeply"):
        decode_space(space, envwire_family())


def mutations(messages: list[Message], rounds: int) -> Iterator[bytes]:
    """Yields encodings with some bytes changed, cut out or doubled."""
    rng = np.random.default_rng(7)
    for _ in range(rounds):
        for message in messages:
            data = bytearray(message.SerializeToString())
            for _ in range(rng.integers(1, 4)):
                if data:
                    at = int(rng.integers(len(data)))
                    data[at : at + int(rng.integers(3))] = rng.bytes(int(rng.integers(3)))
            yield bytes(data)


def survives(data: bytes, kind: Any, decode: Callable[[Any], object]) -> bool:
    """Whether bytes decode; if not, they must be refused properly."""
    try:
        decode(kind.FromString(data))
    except (CodecError, DecodeError):
        return False
    return True


def value_messages() -> list[Message]:
    values: list[Any] = [
        {"a": np.arange(3.0), 2: (1, None, 2.5, "text"), ("k", 1): {b"x": {1, 2}}},
        [
            np.float32(1),
            np.array(["ab", "c"]),
            np.array([True, False]),
            1j,
            2**80,
            np.datetime64(1, "s"),
        ],
        np.array([None, [1], "x"], object),
        spaces.GraphInstance(np.zeros((2, 2)), (1, 2), np.array([[0, 1]], np.int32)),
    ]
    messages: list[Message] = []
    for value in values:
        encode_value(value, message := values_pb2.Value())
        messages.append(message)
    return messages


def space_messages() -> list[Message]:
    messages: list[Message] = []
    for space in catalogue(spaces).values():
        space.seed(1)
        encode_space(space, message := spaces_pb2.Space())
        messages.append(message)
    return messages


@pytest.fixture
def _small_fills(monkeypatch: pytest.MonkeyPatch) -> None:
    # The real limit is safe but slow to reach again and again.
    monkeypatch.setattr("envwire.codec.values.tensors._MAX_FILLED", 160_000)
    monkeypatch.setattr("envwire.codec.spaces.space_context._MAX_FILLED_BOUNDS", 160_000)


@pytest.mark.usefixtures("_small_fills")
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_damaged_messages_decode_or_are_refused() -> None:
    family = envwire_family()
    values = [
        survives(data, values_pb2.Value, lambda message: decode_value(message, family))
        for data in mutations(value_messages(), 500)
    ]
    found = [
        survives(data, spaces_pb2.Space, lambda message: decode_space(message, family))
        for data in mutations(space_messages(), 12)
    ]
    for outcomes in (values, found):
        assert (
            0.02 < np.mean(outcomes) < 0.98
        )  # the damage is neither harmless nor all in the frame


@pytest.mark.usefixtures("_small_fills")
def test_noise_is_refused() -> None:
    rng = np.random.default_rng(11)
    for length in range(2000):
        data = rng.bytes(length % 50)
        survives(data, values_pb2.Value, lambda message: decode_value(message, envwire_family()))
        survives(data, spaces_pb2.Space, lambda message: decode_space(message, envwire_family()))
        survives(data, spaces_pb2.RandomState, decode_random_state)
