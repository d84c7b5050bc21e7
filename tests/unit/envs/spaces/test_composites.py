"""Spaces with spaces inside are containers, and one seed reaches every generator."""

import copy

import gymnasium.spaces
import numpy as np
import pytest

from envwire.envs import spaces
from envwire.envs.spaces import Box, Dict, Discrete, Graph, MultiDiscrete, OneOf, Sequence, Tuple
from envwire.testing.comparing import identical as same


def test_a_dict_space_is_a_mapping():
    space = Dict({"b": Discrete(2), "a": Box(0, 1)}, c=Discrete(3))
    assert list(space) == list(space.keys()) == ["a", "b", "c"]
    assert len(space) == 3
    assert space["b"] == space.get("b") == dict(space.items())["b"] == Discrete(2)
    assert "d" not in space.keys()  # noqa: SIM118 - `in space` asks for elements
    space["a"] = Discrete(9)
    assert space.spaces["a"] == Discrete(9)


@pytest.mark.parametrize(
    ("arguments", "keys"),
    [
        (({"b": Discrete(2), "a": Discrete(2)},), ["a", "b"]),
        (({2: Discrete(2), "a": Discrete(2)},), [2, "a"]),
        (([("b", Discrete(2)), ("a", Discrete(2))],), ["b", "a"]),
        ((), []),
    ],
)
def test_the_order_of_keys(arguments, keys):
    assert list(Dict(*arguments)) == keys
    assert list(Dict(*arguments, sort_keys=False))[:1] == (
        ["b"] if keys == ["a", "b"] else keys[:1]
    )


def test_a_tuple_space_is_a_sequence():
    parts = [Discrete(5), Discrete(10), Discrete(5)]
    space = Tuple(parts)
    assert len(space) == 3
    assert list(space) == parts
    assert space[1] == Discrete(10)
    assert space[1:] == tuple(parts[1:])
    assert (space.count(Discrete(5)), space.index(Discrete(5), 1)) == (2, 2)
    assert np.array([1, 2, 3]) in space
    assert [1, 2, 3] in space


def test_a_one_of_space_can_be_indexed_and_iterated():
    space = OneOf([Discrete(5), Box(0, 1)])
    assert (len(space), space[1], list(space)) == (2, Box(0, 1), [Discrete(5), Box(0, 1)])


@pytest.mark.parametrize("index", [0, (1, 2), slice(1), (slice(None), slice(0, 2)), -1])
def test_a_part_of_a_multi_discrete_draws_from_a_copy_of_its_generator(index):
    def build(family):
        return family.MultiDiscrete([[3, 40, 5], [6, 70, 8]], np.int32, seed=4, start=[[1] * 3] * 2)

    ours, theirs = build(spaces), build(gymnasium.spaces)
    assert repr(ours[index]) == repr(theirs[index])
    assert same(ours[index].sample(), theirs[index].sample())
    assert same(ours[index].sample(), ours[index].sample())


def test_the_length_of_a_multi_discrete_warns_if_there_are_more_axes():
    assert len(MultiDiscrete([3, 2])) == 2
    with pytest.warns(UserWarning, match="counts its first axis only"):
        assert len(MultiDiscrete([[3, 2]])) == 1


SEEDS = [
    ("Dict", lambda s: s.Dict(a=s.Discrete(9), b=s.Tuple([s.Discrete(9)])), {"b": (2,), "a": 1}),
    ("Tuple", lambda s: s.Tuple((s.Discrete(9), s.Dict(a=s.Discrete(9)))), [3, {"a": 4}]),
    ("OneOf", lambda s: s.OneOf((s.Discrete(9), s.Discrete(3))), (1, 2, 3)),
    ("Sequence", lambda s: s.Sequence(s.Sequence(s.Discrete(9))), (1, (2, 3))),
    ("Graph", lambda s: s.Graph(s.Discrete(9), s.Discrete(9)), (1, 2, 3)),
    ("Graph without edges", lambda s: s.Graph(s.Discrete(9), None), [1, 2]),
]


@pytest.mark.parametrize(("build", "seed"), [case[1:] for case in SEEDS], ids=[c[0] for c in SEEDS])
def test_a_seed_for_each_generator(build, seed):
    ours, theirs = build(spaces), build(gymnasium.spaces)
    assert same(ours.seed(seed), theirs.seed(seed))
    for _ in range(5):
        assert str(ours.sample()) == str(theirs.sample())


@pytest.mark.parametrize("build", [case[1] for case in SEEDS], ids=[case[0] for case in SEEDS])
def test_no_seed_is_a_fresh_one_each_time_and_is_told(build):
    space = build(spaces)
    first, second = space.seed(), space.seed(None)
    assert first != second
    sample = space.sample()
    space.seed(second)
    assert str(space.sample()) == str(sample)


def test_a_space_that_is_batched_keeps_the_seeds_of_its_parts():
    space = Dict(a=Discrete(1000, seed=1))
    twin = copy.deepcopy(space)
    assert space.np_random is not None
    assert same(space.sample(), twin.sample())


def test_a_generator_can_be_shared():
    rng = np.random.default_rng(1)
    first, second = Discrete(9, seed=rng), Box(0, 1, seed=rng)
    assert first.np_random is second.np_random is rng
    for space in (
        Tuple([first], rng),
        OneOf([first], rng),
        Sequence(first, rng),
        Graph(first, None, rng),
    ):
        assert space.np_random is rng


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    ("space", "value"),
    [
        (Sequence(Box(0, 1), stack=True), 5),
        (Sequence(Dict(a=Discrete(2)), stack=True), {"b": np.zeros(2)}),
        (
            Sequence(Tuple((Discrete(2), Discrete(2))), stack=True),
            (np.zeros(2, int), np.zeros(3, int)),
        ),
        (Graph(Discrete(2), None), spaces.GraphInstance(5, None, None)),
        (
            Graph(Discrete(2), Discrete(2)),
            spaces.GraphInstance(np.array([1]), 5, np.zeros((1, 2), int)),
        ),
        (Tuple((Discrete(2),)), np.array(1)),
    ],
)
def test_what_cannot_be_taken_apart_is_no_element(space, value):
    assert space.contains(value) is False


LINKS = np.array([[0, 1], [1, 0]])


@pytest.mark.parametrize(
    ("nodes", "edges", "links", "expected"),
    [
        ([0, 1], [0, 1], LINKS, True),
        ([0, 1], None, None, True),
        ([0, 9], [0, 1], LINKS, False),
        ([0, 1], [0, 9], LINKS, False),
        ([0, 1], None, LINKS, False),
        ([0, 1], [0, 1], None, False),
        ([0, 1], [0, 1], LINKS + 0.5, False),
        ([0, 1], [0, 1], LINKS + 1, False),
        ([0, 1], [0, 1], LINKS - 1, False),
        ([0, 1], [0, 1], LINKS[:1], False),
        ([0, 1], [0, 1], LINKS.tolist(), False),
        (None, [0, 1], LINKS, False),
    ],
)
@pytest.mark.parametrize("family", [spaces, gymnasium.spaces], ids=["own", "gym"])
def test_the_links_of_a_graph_join_its_nodes(family, nodes, edges, links, expected):
    space = family.Graph(family.Discrete(2), family.Discrete(2))
    arrays = [None if part is None else np.array(part) for part in (nodes, edges)]
    assert space.contains(family.GraphInstance(*arrays, links)) is expected
    assert space.contains("graph") is False
