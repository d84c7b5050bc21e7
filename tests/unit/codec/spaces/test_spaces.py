"""Spaces of either family arrive as the same space: fields, generators and next samples."""

# pyright: basic, reportArgumentType=false, reportCallIssue=false

from __future__ import annotations

from copy import deepcopy
from typing import Any

import gymnasium
import numpy as np
import pytest

import envwire.envs
from envwire.codec import (
    CodecError,
    Family,
    decode_space,
    encode_space,
    envwire_family,
    gymnasium_family,
)
from envwire.testing.comparing import identical
from envwire.v1 import environment_pb2, spaces_pb2
from tests.each import each
from tests.space_catalogue import catalogue

FAMILIES = {family.name: family for family in (envwire_family(), gymnasium_family())}
CATALOGUES = {name: catalogue(family.spaces) for name, family in FAMILIES.items()}
EVERY_SPACE = each(("source", "name"), [(f, n) for f in FAMILIES for n in CATALOGUES[f]])


def encoded(space: Any) -> spaces_pb2.Space:
    message = spaces_pb2.Space()
    encode_space(space, message)
    return spaces_pb2.Space.FromString(message.SerializeToString())


def parts(space: Any) -> list[Any]:
    """The spaces directly below a space."""
    below = getattr(space, "spaces", ())
    below = list(below.values()) if isinstance(below, dict) else list(below)
    below += [getattr(space, name, None) for name in ("feature_space", "node_space", "edge_space")]
    return [part for part in below if part is not None]


def states(space: Any) -> list[Any]:
    """The state of every generator in the tree; None where there is none."""
    generator = space._np_random
    state = None if generator is None else generator.bit_generator.state
    return [state, *(states(part) for part in parts(space))]


FIELDS = (
    *("shape", "dtype", "low", "high", "bounded_below", "bounded_above", "n", "start", "nvec"),
    *("min_length", "max_length", "character_list", "sort_keys", "stack"),
)


def fields(space: Any) -> dict[str, Any]:
    """All that a space holds itself, without its parts and its generator."""
    held = {name: getattr(space, name) for name in FIELDS if hasattr(space, name)}
    # Boxes without axes hold their flags as arrays or as scalars.
    return {k: np.asarray(v) if k.startswith("bounded") else v for k, v in held.items()}


def samples(space: Any, count: int = 2) -> list[Any]:
    return [untyped(space.sample()) for _ in range(count)]


def untyped(sample: Any) -> Any:
    """Makes graphs of both families comparable."""
    if type(sample).__name__ == "GraphInstance":
        return ["graph", *(untyped(part) for part in sample)]
    if isinstance(sample, tuple):
        return tuple(map(untyped, sample))
    if isinstance(sample, dict):
        return {key: untyped(value) for key, value in sample.items()}
    return sample


def assert_same_space(arrived: Any, space: Any) -> None:
    assert type(arrived).__name__ == type(space).__name__
    assert repr(arrived) == repr(space)
    assert identical(fields(arrived), fields(space))
    assert identical(states(arrived), states(space))
    for mine, theirs in zip(parts(arrived), parts(space), strict=True):
        assert_same_space(mine, theirs)


@pytest.mark.parametrize("target", FAMILIES.values(), ids=lambda family: family.name)
@EVERY_SPACE
def test_a_fresh_space_arrives(source: str, name: str, target: Family) -> None:
    space = deepcopy(CATALOGUES[source][name])
    before = states(space)
    arrived = decode_space(encoded(space), target)
    assert identical(states(space), before)
    assert type(arrived).__module__.startswith(target.spaces.__name__)
    assert_same_space(arrived, space)
    assert encoded(arrived) == encoded(space)
    if source == target.name:
        assert arrived == space


@pytest.mark.parametrize("target", FAMILIES.values(), ids=lambda family: family.name)
@EVERY_SPACE
def test_the_same_samples_follow(source: str, name: str, target: Family) -> None:
    space = deepcopy(CATALOGUES[source][name])
    space.seed(17)
    samples(space)
    arrived = decode_space(encoded(space), target)
    assert_same_space(arrived, space)
    assert identical(samples(arrived), samples(space))
    assert arrived.seed(5) == space.seed(5)
    assert identical(samples(arrived), samples(space))


@pytest.mark.filterwarnings("ignore:.*Casting input x to numpy array")
@EVERY_SPACE
def test_samples_belong_to_the_space_that_arrived(source: str, name: str) -> None:
    space = deepcopy(CATALOGUES[source][name])
    space.seed(3)
    arrived = decode_space(encoded(space), FAMILIES[source])
    assert all(space.sample() in arrived for _ in range(3))


@pytest.mark.parametrize("family", FAMILIES.values(), ids=lambda family: family.name)
class TestFinePrint:
    """Properties that a naive encoding would lose."""

    def test_flags_of_integer_boxes(self, family: Family) -> None:
        space = family.spaces.Box(-np.inf, 5, (3,), np.int32, seed=2)
        arrived = decode_space(encoded(space), family)
        assert not arrived.bounded_below.any()
        assert arrived.bounded_above.all()
        assert identical(arrived.sample(), space.sample())

    @pytest.mark.parametrize("dtype", [np.float32, np.float64, np.uint8])
    def test_flags_that_are_left_out_follow_from_the_bounds(
        self, family: Family, dtype: Any
    ) -> None:
        low, high = np.zeros(3, dtype), np.ones(3, dtype)
        if low.dtype.kind == "f":
            low[1], high[2] = -np.inf, np.inf
        message = encoded(family.spaces.Box(low, high, dtype=dtype, seed=2))
        message.box.ClearField("bounded_below")
        message.box.ClearField("bounded_above")
        arrived = decode_space(message, family)
        assert arrived.bounded_below.tolist() == np.isfinite(low).tolist()
        assert arrived.bounded_above.tolist() == np.isfinite(high).tolist()
        assert identical(
            arrived.sample(), family.spaces.Box(low, high, dtype=dtype, seed=2).sample()
        )

    def test_uniform_bounds_are_short(self, family: Family) -> None:
        image = encoded(family.spaces.Box(0, 255, (210, 160, 3), np.uint8))
        assert image.ByteSize() < 100
        low = np.array([0.0, -0.0])
        zeros = decode_space(encoded(family.spaces.Box(low, low + 1, dtype=np.float64)), family)
        assert identical(zeros.low, low)

    def test_order_of_an_alphabet(self, family: Family) -> None:
        space = family.spaces.Text(5, charset="zab")
        arrived = decode_space(encoded(space), family)
        assert arrived.character_list == ("z", "a", "b")
        mask = (None, np.array([1, 0, 0], np.int8))
        assert set(arrived.sample(mask=mask)) == {"z"}

    @pytest.mark.parametrize("sort_keys", [True, False])
    def test_order_of_keys(self, family: Family, sort_keys: bool) -> None:
        kinds = family.spaces
        space = kinds.Dict({"b": kinds.Discrete(2), "a": kinds.Discrete(2)}, sort_keys=sort_keys)
        space.spaces["0"] = kinds.Discrete(3)  # added later, as some environments do
        arrived = decode_space(encoded(space), family)
        assert list(arrived.spaces) == list(space.spaces)
        assert arrived.sort_keys is sort_keys

    def test_a_part_with_a_generator_under_one_without(self, family: Family) -> None:
        kinds = family.spaces
        space = kinds.Tuple([kinds.Discrete(9, seed=4), kinds.Discrete(9)])
        arrived = decode_space(encoded(space), family)
        assert space._np_random is arrived._np_random is None
        assert arrived[1]._np_random is None
        assert identical(samples(arrived[0]), samples(space[0]))

    @pytest.mark.parametrize("bits", [np.random.MT19937, np.random.Philox, np.random.SFC64])
    def test_foreign_generators(self, family: Family, bits: Any) -> None:
        space = family.spaces.Box(0, 1, (3,), seed=np.random.Generator(bits(3)))
        arrived = decode_space(encoded(space), family)
        assert identical(samples(arrived), samples(space))

    def test_copies_are_independent(self, family: Family) -> None:
        space = family.spaces.Box(0, 1, (3,), seed=1)
        message = encoded(space)
        first, second = (decode_space(message, family) for _ in range(2))
        assert identical(samples(first), samples(deepcopy(second)))
        first.low[:] = -1
        assert identical(second.low, space.low)

    def test_deep_trees_with_generators(self, family: Family) -> None:
        space = family.spaces.Discrete(2, seed=np.random.Generator(np.random.MT19937(1)))
        for level in range(25):
            space = family.spaces.Dict({level: space})
        response = environment_pb2.InteractResponse()
        encode_space(space, response.make.observation_space)
        parsed = environment_pb2.InteractResponse.FromString(response.SerializeToString())
        assert decode_space(parsed.make.observation_space, family) == space
        with pytest.raises(CodecError, match="nested too deeply"):
            encode_space(family.spaces.Dict({0: space}), spaces_pb2.Space())


class Own(envwire.envs.spaces.Space[Any]):
    """Draws as it likes."""


KINDS = gymnasium.spaces
REFUSED = {
    "own class": (Own(), r"s is a space of class .*\.Own; expected one of Box, Discrete"),
    "no space": (3, r"s is a space of class builtins\.int"),
    "long double": (KINDS.Box(0, 1, (2,), np.longdouble), r"s\.low is of NumPy type"),
    "beyond int64": (KINDS.Discrete(2**63, dtype=np.uint64), "s is a Discrete that does not fit"),
    "surrogates": (KINDS.Text(3, charset="a\ud800"), "s is a Text that does not fit the wire"),
    "own generator": (
        KINDS.Discrete(2, seed=np.random.Generator(type("Own", (np.random.PCG64,), {})())),
        r"s\.np_random is a bit generator 'Own'",
    ),
    "own key": (
        KINDS.Tuple([KINDS.Dict({(1, frozenset()): KINDS.Discrete(2)})]),
        r"s\[0\]\[\(1, frozenset\(\)\)\]\.key\[1\] is a builtins\.frozenset",
    ),
}


@pytest.mark.parametrize(("space", "message"), REFUSED.values(), ids=REFUSED.keys())
def test_what_has_no_wire_form_is_refused(space: Any, message: str) -> None:
    with pytest.raises(CodecError, match=message):
        encode_space(space, spaces_pb2.Space(), "s")


def test_a_part_is_named_by_its_path() -> None:
    kinds = envwire.envs.spaces
    space = kinds.Dict({"a": kinds.Tuple([kinds.Discrete(2), kinds.Sequence(Own())])})
    with pytest.raises(CodecError) as caught:
        encode_space(space, spaces_pb2.Space(), "observation_space")
    assert caught.value.path == 'observation_space["a"][1].feature_space'


def test_a_family_may_lack_a_space() -> None:
    family = envwire_family()
    kinds = type(family.spaces)("old")
    vars(kinds).update({k: v for k, v in vars(family.spaces).items() if k != "OneOf"})
    old = Family(**{**vars(family), "spaces": kinds})
    message = encoded(family.spaces.OneOf([family.spaces.Discrete(2)]))
    with pytest.raises(CodecError, match="space is a OneOf; expected a space that this envwire"):
        decode_space(message, old)


@pytest.mark.parametrize("family", FAMILIES.values(), ids=FAMILIES.keys())
def test_one_space_in_two_places_stays_one(family: Family) -> None:
    box = family.spaces.Box(0, 1, (2,))
    space = family.spaces.Dict(a=family.spaces.Tuple((box, box)), b=box)
    message = spaces_pb2.Space()
    encode_space(space, message)
    arrived = decode_space(message, family)
    assert arrived["b"] is arrived["a"][0] is arrived["a"][1]
    for found in (space, arrived):
        found.seed(5)
    assert identical(arrived.sample(), space.sample())


def test_a_reference_to_a_space_that_is_not_there() -> None:
    with pytest.raises(CodecError, match="same as space 3"):
        decode_space(spaces_pb2.Space(same_as=3), envwire_family())
