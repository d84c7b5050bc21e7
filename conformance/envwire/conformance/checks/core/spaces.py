"""Spaces: every kind, their generators and samples."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Iterator

from envwire.codec import Reason
from envwire.conformance.outcomes import FailedError, SkippedError, expect, expect_equal
from envwire.conformance.raw.values import entries, look_up
from envwire.conformance.suite import CheckContext, cases, check
from envwire.conformance.suite.checks import ALL
from envwire.v1 import spaces_pb2 as pb
from envwire.v1 import values_pb2
from envwire.v1.values_pb2 import Tensor, Value


def _spaces(space: pb.Space) -> dict[str, pb.Space]:
    return {entry.key.string_value: entry.space for entry in space.dict.entries}


def _floats(tensor: Tensor) -> list[float]:
    count = math.prod(tensor.shape)
    data = tensor.data * count if tensor.fill else tensor.data
    return [number for (number,) in struct.iter_unpack("<f", data)]


def _int64s(tensor: Tensor) -> list[int]:
    data = tensor.data * math.prod(tensor.shape) if tensor.fill else tensor.data
    return [number for (number,) in struct.iter_unpack("<q", data)]


def _box(space: pb.Space) -> None:
    expect_equal(space.box.low.data_type, values_pb2.DATA_TYPE_FLOAT32, "the type of low")
    expect_equal(_floats(space.box.low), [-1.0, -math.inf], "low")
    expect_equal(_floats(space.box.high), [1.0, math.inf], "high")
    for name in ("bounded_below", "bounded_above"):
        if space.box.HasField(name):
            expect_equal(getattr(space.box, name).data, b"\x01\x00", name)


def _discrete(space: pb.Space) -> None:
    expect_equal((space.discrete.n, space.discrete.start), (5, -2), "n and start")
    expect_equal(space.discrete.data_type, values_pb2.DATA_TYPE_INT64, "the type")


def _multi_binary(space: pb.Space) -> None:
    expect_equal(list(space.multi_binary.shape), [2, 3], "the shape")


def _multi_discrete(space: pb.Space) -> None:
    expect_equal(_int64s(space.multi_discrete.nvec), [3, 4], "nvec")
    expect_equal(_int64s(space.multi_discrete.start), [0, 10], "start")


def _text(space: pb.Space) -> None:
    found = space.text
    expect_equal((found.min_length, found.max_length), (1, 4), "the lengths")
    expect_equal(sorted(found.characters), ["a", "b"], "the characters")


def _one_of(space: pb.Space) -> None:
    kinds = [inner.WhichOneof("kind") for inner in space.one_of.spaces]
    expect_equal(kinds, ["discrete", "box"], "the kinds of its spaces")


def _sequence(space: pb.Space) -> None:
    expect_equal(space.sequence.feature_space.discrete.n, 4, "n of its elements")
    expect(not space.sequence.stack, "stack to be false")


def _stacked(space: pb.Space) -> None:
    expect_equal(list(space.sequence.feature_space.box.low.shape), [2], "the shape of its elements")
    expect(space.sequence.stack, "stack to be true")


def _graph(space: pb.Space) -> None:
    expect_equal(list(space.graph.node_space.box.low.shape), [2], "the shape of a node")
    expect_equal(space.graph.edge_space.discrete.n, 3, "n of an edge")


def _tuple(space: pb.Space) -> None:
    expect_equal(len(space.tuple.spaces), 2, "the number of its spaces")
    expect_equal(space.tuple.spaces[0].discrete.n, 3, "n of the first")


_KINDS: dict[str, tuple[str, Callable[[pb.Space], None]]] = {
    "box": ("box", _box),
    "discrete": ("discrete", _discrete),
    "multi_binary": ("multi_binary", _multi_binary),
    "multi_discrete": ("multi_discrete", _multi_discrete),
    "text": ("text", _text),
    "tuple": ("tuple", _tuple),
    "one_of": ("one_of", _one_of),
    "sequence": ("sequence", _sequence),
    "stacked": ("sequence", _stacked),
    "graph": ("graph", _graph),
}


@cases(_KINDS, "VALUE-20 VALUE-21 VALUE-24")
def a_space_is_described(
    context: CheckContext, case: tuple[str, Callable[[pb.Space], None]]
) -> None:
    """EverySpace's spaces, one of each kind, are described completely."""
    kind, look = case
    name = next(one for one, known in _KINDS.items() if known is case)
    made = context.make("EverySpace").made
    for space in (made.observation_space, made.action_space):
        found = _spaces(space).get(name)
        if found is None:
            raise SkippedError(f"the server's EverySpace has no {name}")
        expect_equal(found.WhichOneof("kind"), kind, "the kind")
        look(found)


@check("VALUE-21")
def the_order_of_a_dictionary_space_is_told(context: CheckContext) -> None:
    """A dictionary space lists its entries in sampling order, each key once."""
    entries = context.make("EverySpace").made.observation_space.dict.entries
    names = [entry.key.string_value for entry in entries]
    expect_equal(names, sorted(set(names)), "the keys, which this space sorts")


@check("VALUE-20 VALUE-30")
def a_space_in_two_places_is_one(context: CheckContext) -> None:
    """A space that occurs twice in a tree is described once; the second place refers to it by number."""
    space = context.make("EverySpace").made.observation_space
    second = _spaces(space)["tuple"].tuple.spaces[1]
    expect_equal(second.WhichOneof("kind"), "same_as", "the kind of the second")
    expect_equal(_nth(space, second.same_as).discrete.n, 3, "n of the space that it names")


def _nth(root: pb.Space, index: int) -> pb.Space:
    """Returns the space with a number: subspaces count before their container, references do not count."""
    found = list(_ended(root))
    if index >= len(found):
        raise FailedError(f"an index below {len(found)}, not {index}")
    return found[index]


def _ended(space: pb.Space) -> Iterator[pb.Space]:
    kind = space.WhichOneof("kind") or ""
    for inner in _inner(space, kind):
        yield from _ended(inner)
    if kind != "same_as":
        yield space


def _inner(space: pb.Space, kind: str) -> list[pb.Space]:
    if kind == "dict":
        return [entry.space for entry in space.dict.entries]
    if kind in {"tuple", "one_of"}:
        return list(getattr(space, kind).spaces)
    if kind == "sequence":
        return [space.sequence.feature_space]
    if kind == "graph":
        edges = [space.graph.edge_space] if space.graph.HasField("edge_space") else []
        return [space.graph.node_space, *edges]
    return []


@check("VALUE-19 VALUE-20", over=ALL)
def a_sample_is_in_its_space(context: CheckContext) -> None:
    """A sample of the observation space, sent back as the action, is in the equal action space."""
    session = context.make("EverySpace")
    observation = session.reset(3).observation
    expect(observation.HasField("dict"), "a dictionary")
    contained = look_up(session.step(observation).info, "contained")
    expect(contained.bool_value, "info['contained'] to be true")


@check("VALUE-20")
def samples_have_the_usual_form(context: CheckContext) -> None:
    """Each part of a sample has the kind that the protocol states for its space."""
    session = context.make("EverySpace")
    sample = session.reset(3).observation
    forms = {
        "box": "array",
        "discrete": "scalar",
        "multi_binary": "array",
        "multi_discrete": "array",
    }
    forms |= {"text": "string_value", "tuple": "tuple", "one_of": "tuple", "sequence": "tuple"}
    forms |= {"stacked": "array", "graph": "graph"}
    found = {entry.name: entry.value.WhichOneof("kind") for entry in sample.dict.entries}
    expect_equal(found, {name: forms[name] for name in sorted(found)}, "the kinds of the parts")


@check("VALUE-22 VALUE-25")
def generators_are_pcg64(context: CheckContext) -> None:
    """A space with a generator has PCG64's state: two integers, has_uint32, uinteger."""
    spaces = _spaces(context.make("EverySpace").made.observation_space)
    carried = [space.np_random for space in spaces.values() if space.HasField("np_random")]
    for state in carried:
        if state.bit_generator != "PCG64":
            continue
        fields = {entry.name for entry in state.state.dict.entries}
        wanted = {"bit_generator", "state", "has_uint32", "uinteger"}
        expect_equal(fields, wanted, "the fields of the state")
        inner = look_up(state.state.dict, "state").dict
        expect_equal(
            {entry.name for entry in inner.entries}, {"state", "inc"}, "those of its state"
        )


@check("VALUE-23")
def a_space_of_another_class_makes_make_fail(context: CheckContext) -> None:
    """An environment whose space is none of these kinds is not made: UNSUPPORTED."""
    context.make("Odd")
    answer = context.ask_make("Odd", kwargs=entries(odd_space=Value(bool_value=True)))
    answer.refused(Reason.UNSUPPORTED)
