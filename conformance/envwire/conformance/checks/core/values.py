"""Round trips of values of every kind, and broken values."""

from __future__ import annotations

from envwire.codec import Reason
from envwire.conformance.outcomes import expect, expect_equal
from envwire.conformance.raw.values import array, entries, integer, parsed, text
from envwire.conformance.suite import CheckContext, Level, cases, check
from envwire.conformance.suite.checks import ALL
from envwire.v1 import values_pb2 as pb
from envwire.v1.values_pb2 import Value

#: Size of an element, in bytes.
_SIZES = {
    "BOOL": 1,
    "INT8": 1,
    "INT16": 2,
    "INT32": 4,
    "INT64": 8,
    "UINT8": 1,
    "UINT16": 2,
    "UINT32": 4,
    "UINT64": 8,
    "FLOAT16": 2,
    "FLOAT32": 4,
    "FLOAT64": 8,
    "COMPLEX64": 8,
    "COMPLEX128": 16,
}

#: The kinds of the table in docs/protocol.md, with edge cases.
KINDS = {
    "none": "none { }",
    "true": "bool_value: true",
    "false": "bool_value: false",
    "int": "int_value: -3",
    "int-zero": "int_value: 0",
    "int-most": "int_value: 9223372036854775807",
    "int-least": "int_value: -9223372036854775808",
    "big-int": r'big_int_value: "\000\000\000\000\000\000\000\000\001"',
    "big-int-negative": r'big_int_value: "\377\377\377\377\377\377\377\377\376"',
    "float": "float_value: 0.5",
    "float-infinite": "float_value: -inf",
    "float-tiny": "float_value: 5e-324",
    "complex": "complex_value { real: 1.0 imaginary: 2.0 }",
    "text": 'string_value: "text"',
    "text-empty": 'string_value: ""',
    "text-unicode": 'string_value: "\\303\\251\\360\\237\\244\\226"',
    "bytes": r'bytes_value: "\000\377"',
    "text-stream": 'text_stream: "line"',
    "list": 'list { values { int_value: 1 } values { string_value: "a" } }',
    "list-empty": "list { }",
    "tuple": "tuple { values { int_value: 2 } }",
    "tuple-in-list": "list { values { tuple { } } }",
    "set": "set { values { int_value: 5 } }",
    "dict": 'dict { entries { name: "a" value { int_value: 1 } } entries { other { int_value: 7 } value { none {} }}}',
    "dict-order": 'dict { entries { name: "b" value { int_value: 1 } } entries { name: "a" value { int_value: 2 } } }',
    "dict-empty-name": 'dict { entries { name: "" value { int_value: 1 } } }',
    "array-empty": "array { data_type: DATA_TYPE_FLOAT64 shape: 0 shape: 3 }",
    "array-no-axes": r'array { data_type: DATA_TYPE_INT16 data: "\001\002" }',
    "array-2d": r'array { data_type: DATA_TYPE_UINT8 shape: 2 shape: 2 data: "\001\002\003\004" }',
    "scalar": r'scalar { data_type: DATA_TYPE_FLOAT32 data: "\000\000\300?" }',
    "scalar-int": r'scalar { data_type: DATA_TYPE_INT64 data: "\001\000\000\000\000\000\000\000" }',
    "object-array": 'object_array { shape: 2 values { none { } } values { string_value: "x" } }',
    "enum": 'enum_member { enumeration: "AutoresetMode" member: "NEXT_STEP" }',
}


@cases(KINDS, "VALUE-1 VALUE-2 VALUE-3 VALUE-5 VALUE-7 VALUE-9 VALUE-10", over=ALL)
def a_value_comes_back_as_it_was_sent(context: CheckContext, source: str) -> None:
    """Echo's observation is the value sent as the action, and of the same kind."""
    session = context.start("Echo")
    sent = parsed(source)
    expect_equal(session.step(sent).observation, sent, "the observation")


@cases({name.lower(): name for name in _SIZES}, "VALUE-6", over=ALL)
def an_array_comes_back_as_it_was_sent(context: CheckContext, name: str) -> None:
    """An array of each type keeps type, shape and elements."""
    session = context.start("Echo")
    sent = array(pb.DataType.Value(f"DATA_TYPE_{name}"), [2], bytes([1, 0] * _SIZES[name]))
    expect_equal(session.step(sent).observation, sent, "the observation")


@check("VALUE-8")
def a_fill_stands_for_all_elements(context: CheckContext) -> None:
    """A tensor with `fill` stands for an array filled with its one element, whatever form it comes back in."""
    session = context.start("Echo")
    found = session.step(array(pb.DATA_TYPE_UINT8, [3, 2], b"\x05", fill=True)).observation.array
    expect_equal(list(found.shape), [3, 2], "the shape")
    expect_equal(found.data * (6 if found.fill else 1), bytes([5] * 6), "the elements")


@check("VALUE-6 VALUE-18", level=Level.RECOMMENDED)
def numpy_types_come_back(context: CheckContext) -> None:
    """An array of a type that only NumPy has keeps its type."""
    session = context.start("Echo")
    sent = parsed(
        r'array { data_type: DATA_TYPE_NUMPY data: "a\000\000\000b\000\000\000" numpy_type: "<U2" }'
    )
    expect_equal(session.step(sent).observation, sent, "the observation")


_NESTED = {"lists": ("list", 40), "dictionaries": ("dict", 25)}


@cases(_NESTED, "VALUE-17", over=ALL)
def nested_values_come_back(context: CheckContext, case: tuple[str, int]) -> None:
    """Nested values come back, almost as deep as the protocol allows: an answer nests them in messages."""
    kind, depth = case
    sent = integer(1)
    for _ in range(depth):
        outer = Value()
        if kind == "list":
            outer.list.values.append(sent)
        else:
            outer.dict.entries.add(name="in", value=sent)
        sent = outer
    session = context.start("Echo")
    expect_equal(session.step(sent).observation, sent, "the observation")


_F32 = pb.DATA_TYPE_FLOAT32
_TWICE = pb.ValueEntry(name="a", value=integer(1))
#: Messages that are not valid values.
BROKEN = {
    "no-kind": Value(),
    "no-kind-in-list": parsed("list { values { } }"),
    "data-too-short": array(_F32, [2], bytes(4)),
    "data-too-long": array(_F32, [2], bytes(12)),
    "no-type": array(pb.DATA_TYPE_UNSPECIFIED, [1], bytes(1)),
    "unknown-type": array(99, [1], bytes(1)),
    "huge-shape": array(_F32, [2**40, 2**40], b""),
    "huge-fill": array(_F32, [2**50], bytes(4), fill=True),
    "fill-of-two": array(_F32, [4], bytes(8), fill=True),
    "scalar-of-two": Value(scalar=array(_F32, [2], bytes(8)).array),
    "objects-too-few": parsed("object_array { shape: 2 values { none { } } }"),
    "numpy-objects": parsed(
        'array { data_type: DATA_TYPE_NUMPY numpy_type: "O" shape: 1 data: "12345678" }'
    ),
    "numpy-nonsense": parsed(
        'array { data_type: DATA_TYPE_NUMPY numpy_type: "no type" shape: 1 data: "1" }'
    ),
    "attached": array(_F32, [1], b"", attachment_offset=0),
    "entry-without-value": parsed('dict { entries { name: "a" } }'),
    "entry-without-key": parsed("dict { entries { value { int_value: 1 } } }"),
    "key-twice": Value(dict=pb.ValueMap(entries=[_TWICE, _TWICE])),
    "key-is-list": parsed("dict { entries { other { list { } } value { int_value: 1 } } }"),
    "list-in-set": parsed("set { values { list { } } }"),
    "enum-unknown": parsed('enum_member { enumeration: "Colour" member: "RED" }'),
    "member-unknown": parsed('enum_member { enumeration: "AutoresetMode" member: "NEVER" }'),
    "opaque": parsed('opaque { type_name: "a.B" text: "<B>" }'),
}


@cases(BROKEN, "VALUE-4 VALUE-6 VALUE-11 VALUE-13 VALUE-15", over=ALL)
def a_broken_value_is_refused(context: CheckContext, broken: Value) -> None:
    """An invalid value is answered with INVALID_VALUE and uses its number; the session goes on."""
    session = context.start("Echo")
    session.ask("step", action=broken).refused(Reason.INVALID_VALUE)
    expect_equal(session.step(3).observation, integer(3), "the next observation")


@check("VALUE-14")
def an_object_without_a_wire_form_does_not_break_a_step(context: CheckContext) -> None:
    """An object without a wire form in an info becomes an Opaque, with the name of its type and its repr."""
    session = context.start("Raise")
    entries = session.step(text("opaque")).info.entries
    expect_equal([entry.name for entry in entries], ["it"], "the keys of the info")
    expect(entries[0].value.opaque.type_name, "an opaque value with the name of a type")


@check("VALUE-16 ERROR-12")
def an_observation_without_a_wire_form_is_an_error(context: CheckContext) -> None:
    """An observation without a wire form is answered with UNSUPPORTED; the step is taken, and the session goes on."""
    session = context.start("Raise")
    session.ask("step", action=text("object")).refused(Reason.UNSUPPORTED)
    session.step(text("nothing"))


@check("VALUE-12", over=ALL)
def a_subclass_travels_as_what_it_extends(context: CheckContext) -> None:
    """A named tuple is a tuple, an ordered dictionary a dictionary."""
    answer = context.make("Odd").reset(1)
    expect_equal(list(answer.observation.tuple.values), [integer(0), text("odd")], "the tuple")
    expect_equal(answer.info, entries(first=integer(1), second=integer(2)), "the info")
