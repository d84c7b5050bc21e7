"""Batches of spaces and of their elements are Gymnasium's, over the catalogue."""

import copy
import multiprocessing

import gymnasium.spaces
import gymnasium.vector.utils
import numpy as np
import pytest

import envwire.envs.spaces
import envwire.envs.vector.utils
from envwire.envs import spaces
from envwire.envs.error import CustomSpaceError
from envwire.envs.spaces import Box, Dict, Discrete, MultiBinary, MultiDiscrete, Text, Tuple
from envwire.envs.spaces.space import NumericSpace
from envwire.envs.vector import utils
from envwire.testing.comparing import identical as same
from tests.each import each
from tests.space_catalogue import catalogue, neutral

OURS, THEIRS = catalogue(envwire.envs.spaces), catalogue(gymnasium.spaces)
theirs_utils = gymnasium.vector.utils
#: Gymnasium cannot sample a batch of these, or take it apart.
OWN = {"box_int64_infinite", "box_int64_below_only"}
#: How many elements a batch has is lost where they are empty.
UNCOUNTED = {"dict_empty", "tuple_empty", "dict_with_empty_parts"}
EVERY_SPACE = each("name", sorted(OURS.keys() - OWN - UNCOUNTED))

# The elements of an array are scalars, not arrays of shape ().
pytestmark = pytest.mark.filterwarnings("ignore:.*Casting input x to numpy array")


class Unregistered(spaces.Space):
    def __eq__(self, other):
        return isinstance(other, Unregistered)

    __hash__ = None


def seeded_twins(name):
    ours, theirs = copy.deepcopy((OURS[name], THEIRS[name]))
    for space in (ours, theirs):
        space.seed(9)
    return ours, theirs


@EVERY_SPACE
@pytest.mark.parametrize("n", [1, 3])
def test_batched_spaces_draw_and_iterate_the_same(name, n):
    ours, theirs = seeded_twins(name)
    batched, batched_theirs = utils.batch_space(ours, n), theirs_utils.batch_space(theirs, n)
    assert repr(batched) == repr(batched_theirs)
    assert batched.np_random is not ours.np_random
    for _ in range(3):
        batch, batch_theirs = batched.sample(), batched_theirs.sample()
        assert same(neutral(batch), neutral(batch_theirs))
        assert batch in batched
        items = list(utils.iterate(batched, batch))
        assert same(
            neutral(items), neutral(list(theirs_utils.iterate(batched_theirs, batch_theirs)))
        )
        assert len(items) == n
        assert all(item in ours for item in items)


@EVERY_SPACE
def test_elements_are_put_together_and_taken_apart(name):
    ours, theirs = seeded_twins(name)
    items = [ours.sample() for _ in range(3)]
    out = utils.create_empty_array(ours, 3)
    out_theirs = theirs_utils.create_empty_array(theirs, 3)
    assert same(neutral(out), neutral(out_theirs))
    batch = utils.concatenate(ours, iter(items), out)
    batch_theirs = theirs_utils.concatenate(theirs, [theirs.sample() for _ in range(3)], out_theirs)
    assert same(neutral(batch), neutral(batch_theirs))
    back = list(utils.iterate(utils.batch_space(ours, 3), batch))
    if name.startswith("box_0d"):
        back, items = np.array(back), np.array(items)
    if name == "dict_ordered":  # batching sorts the keys, here as in Gymnasium
        items = [dict(sorted(item.items())) for item in items]
    assert same(back, items)


@EVERY_SPACE
def test_a_batch_of_differing_spaces_is_gymnasiums(name):
    pairs = [[copy.deepcopy(space) for _ in range(2)] for space in seeded_twins(name)]
    batched = utils.batch_differing_spaces(pairs[0])
    batched_theirs = theirs_utils.batch_differing_spaces(pairs[1])
    assert repr(batched) == repr(batched_theirs)
    assert same(neutral(batched.sample()), neutral(batched_theirs.sample()))


@pytest.mark.parametrize(
    ("parts", "batched"),
    [
        ([Box(0, 1), Box(2, 5)], "Box([[0.]\n [2.]], [[1.]\n [5.]], (2, 1), float32)"),
        ([Discrete(3), Discrete(5, start=2)], "MultiDiscrete([3 5], start=[0 2])"),
        ([MultiDiscrete([2]), MultiDiscrete([4])], "Box(0, [[1]\n [3]], (2, 1), int64)"),
        ([MultiBinary([2]), MultiBinary([2])], "Box(0, 1, (2, 2), int8)"),
        ([Dict(a=Discrete(2)), Dict(a=Discrete(3))], "Dict('a': MultiDiscrete([2 3]))"),
        ([Tuple([Discrete(2)]), Tuple([Discrete(3)])], "Tuple(MultiDiscrete([2 3]))"),
        ([Text(1, charset="a"), Text(2)], f"Tuple(Text(1, 1, charset=a), {Text(2)})"),
    ],
)
def test_spaces_that_differ_in_their_bounds(parts, batched):
    assert str(utils.batch_differing_spaces(parts)) == batched


@pytest.mark.parametrize(
    ("parts", "error"),
    [
        ([], ValueError),
        ([Box(0, 1), Box(0, 1, dtype=np.float64)], ValueError),
        ([Box(0, 1, (1,)), Box(0, 1, (2,))], ValueError),
        ([MultiDiscrete([1]), MultiDiscrete([1, 1])], ValueError),
        ([Dict(a=Discrete(2)), Dict(b=Discrete(2))], ValueError),
        ([Tuple(()), Tuple([Discrete(2)])], ValueError),
        ([Discrete(2), Discrete(2, dtype=np.uint64)], ValueError),
        ([Discrete(2), Box(0, 1)], TypeError),
        ([Unregistered(), Unregistered()], TypeError),
    ],
)
def test_spaces_that_cannot_be_batched_together(parts, error):
    with pytest.raises(error):
        utils.batch_differing_spaces(parts)


@pytest.mark.parametrize(
    ("dtypes", "expected"),
    [
        ((np.int8, np.int16), np.int16),
        ((np.uint8, np.int8), np.int16),
        ((np.uint32, np.int32), np.int64),
    ],
)
def test_numbers_of_differing_dtypes_are_batched_without_loss(dtypes, expected):
    parts = [Discrete(3, start=np.iinfo(dtype).max - 2, dtype=dtype) for dtype in dtypes]
    batched = utils.batch_differing_spaces(parts)
    assert batched.dtype == expected
    assert batched.start.tolist() == [int(part.start) for part in parts]


def test_a_class_of_space_without_rules():
    space = Unregistered()
    assert utils.batch_space(space, 2) == Tuple([space, space])
    assert utils.concatenate(space, (1, 2), None) == (1, 2)
    assert utils.create_empty_array(space) is None
    for use in (lambda: utils.iterate(space, ()), lambda: utils.create_shared_memory(space)):
        with pytest.raises(CustomSpaceError, match="no rule for Unregistered"):
            use()
    assert list(utils.iterate(Tuple([space, space]), (1, 2))) == [1, 2]
    with pytest.raises(CustomSpaceError):
        utils.iterate(Tuple([space, space]), 5)


def test_a_class_of_arrays_needs_a_rule():
    class Own(NumericSpace):
        pass

    with pytest.raises(CustomSpaceError, match=r"batch_space\.register\(Own\)"):
        utils.batch_space(Own((2,), np.float32), 3)


@pytest.mark.parametrize(
    ("function", "arguments"),
    [
        (utils.batch_space, ()),
        (utils.concatenate, ((), None)),
        (utils.iterate, ((),)),
        (utils.create_empty_array, ()),
        (utils.create_shared_memory, ()),
        (utils.read_from_shared_memory, (None,)),
        (utils.write_to_shared_memory, (0, None, None)),
    ],
)
def test_what_is_no_space_is_refused(function, arguments):
    with pytest.raises(TypeError, match="needs a space, got 'space' of type str"):
        function("space", *arguments)


@pytest.mark.parametrize("space", [Discrete(2), Box(0, 1)])
def test_a_number_is_no_batch(space):
    with pytest.raises(TypeError):
        utils.iterate(space, 1)


@EVERY_SPACE
def test_a_batch_in_shared_memory(name):
    space, _ = seeded_twins(name)
    items = [space.sample() for _ in range(3)]
    if not space.is_np_flattenable:
        with pytest.raises(TypeError, match="dynamic shape"):
            utils.create_shared_memory(space, 3)
        return
    memory = utils.create_shared_memory(space, 3, multiprocessing.get_context("spawn"))
    for i, item in enumerate(items):
        utils.write_to_shared_memory(space, i, item, memory)
    batch = utils.read_from_shared_memory(space, memory, 3)
    assert same(batch, utils.concatenate(space, items, utils.create_empty_array(space, 3)))
