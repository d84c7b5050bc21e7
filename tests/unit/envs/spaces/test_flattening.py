"""Flattening agrees with Gymnasium's, and unflattening undoes it, over the catalogue."""

import copy

import gymnasium.spaces
import gymnasium.spaces.utils
import numpy as np
import pytest

import envwire.envs.spaces
import envwire.envs.spaces.utils
from envwire.envs import spaces
from envwire.testing.comparing import identical as same
from tests.each import each
from tests.space_catalogue import catalogue, neutral

#: Their flat form is an array of 2**62 numbers.
TOO_LARGE = {"discrete_huge"}
#: Gymnasium fails to flatten these, or to unflatten them.
OWN = {
    *("dict_empty", "dict_with_empty_parts", "tuple_empty", "tuple"),
    *("box_int64_below_only", "multi_discrete_uint64"),
}
OURS, THEIRS = catalogue(envwire.envs.spaces), catalogue(gymnasium.spaces)
NAMES = sorted(OURS.keys() - TOO_LARGE)
SHARED = sorted(OURS.keys() - TOO_LARGE - OWN)
UNKNOWN_SIZE = [name for name in NAMES if not OURS[name].is_np_flattenable]

# Gymnasium casts the bounds of some OneOf spaces through a wider dtype.
quiet = pytest.mark.filterwarnings("ignore:.*precision lowered")


class Unregistered(spaces.Space):
    is_np_flattenable = True


def attempt(function, *arguments):
    try:
        return function(*arguments)
    except (ValueError, NotImplementedError) as error:
        return type(error)


@each("name", SHARED)
@quiet
def test_the_flat_form_is_gymnasiums(name):
    ours, theirs = copy.deepcopy((OURS[name], THEIRS[name]))
    assert same(attempt(spaces.flatdim, ours), attempt(gymnasium.spaces.flatdim, theirs))
    flat_space = attempt(spaces.flatten_space, ours)
    assert repr(flat_space) == repr(attempt(gymnasium.spaces.flatten_space, theirs))
    for space in (ours, theirs):
        space.seed(5)
    for _ in range(5):
        x, y = ours.sample(), theirs.sample()
        x, y = attempt(spaces.flatten, ours, x), attempt(gymnasium.spaces.flatten, theirs, y)
        assert same(neutral(x), neutral(y))


@each("name", [name for name in NAMES if name != "zoo"])
@quiet
def test_flat_elements_are_in_the_flat_space_and_come_back(name):
    space = copy.deepcopy(OURS[name])
    space.seed(5)
    flat_space = spaces.flatten_space(space)
    assert flat_space.sample() in flat_space
    for _ in range(5):
        sample = space.sample()
        flat = spaces.flatten(space, sample)
        assert flat in flat_space
        back = spaces.unflatten(space, flat)
        assert same(np.int32(back) if name == "box_0d_int" else back, sample)
        if space.is_np_flattenable:
            assert flat.shape == flat_space.shape == (spaces.flatdim(space),)


@pytest.mark.parametrize("name", UNKNOWN_SIZE)
def test_spaces_of_no_fixed_size_have_no_flat_length(name):
    with pytest.raises(ValueError, match="no fixed size"):
        spaces.flatdim(OURS[name])


def test_a_choice_among_sequences_cannot_be_flattened():
    with pytest.raises(ValueError, match="no fixed size"):
        spaces.flatten_space(spaces.OneOf([spaces.Sequence(spaces.Discrete(2))]))


@pytest.mark.parametrize("many", [3, 200, 40_000])
def test_the_position_in_a_one_of_fits_the_flat_dtype(many):
    part = spaces.Box(0, 1, (1,), bool if many == 3 else np.int8)
    theirs = gymnasium.spaces.Box(0, 1, (1,), part.dtype)
    space = spaces.OneOf([part] * many)
    flat = spaces.flatten(space, (many - 1, part.low))
    assert int(flat[0]) == many - 1
    expected = gymnasium.spaces.OneOf([theirs] * many)
    assert same(flat, gymnasium.spaces.flatten(expected, (many - 1, part.low)))


@pytest.mark.parametrize("space", [spaces.Discrete(2), spaces.MultiDiscrete([2, 2])])
def test_a_vector_without_a_one_is_nothing_to_unflatten(space):
    with pytest.raises(ValueError, match="has no entry that says which element"):
        spaces.unflatten(space, np.zeros(spaces.flatdim(space)))


@pytest.mark.parametrize(
    ("space", "value"),
    [
        (spaces.Tuple([spaces.Discrete(2)]), (np.array([1, 0]),)),
        (spaces.Dict(a=spaces.Discrete(2)), {"a": np.array([1, 0])}),
        (spaces.Tuple([spaces.Sequence(spaces.Discrete(2))]), np.array([1, 0])),
    ],
)
def test_a_flat_element_of_the_wrong_form_is_refused(space, value):
    with pytest.raises(AssertionError, match="flattens to a"):
        spaces.unflatten(space, value)


@pytest.mark.parametrize(
    "call",
    [
        spaces.flatdim,
        lambda space: spaces.flatten(space, None),
        lambda space: spaces.unflatten(space, None),
        spaces.flatten_space,
    ],
)
def test_a_class_of_space_without_a_rule_is_told_how_to_add_one(call):
    with pytest.raises(NotImplementedError, match="has no rule for Unregistered; add one with"):
        call(Unregistered())


@each("name", SHARED)
def test_equivalence_is_gymnasiums(name):
    ours, theirs = (
        module.spaces.utils.is_space_dtype_shape_equiv for module in (envwire.envs, gymnasium)
    )
    for other in SHARED:
        assert ours(OURS[name], OURS[other]) is bool(theirs(THEIRS[name], THEIRS[other])), other


def test_equivalence_of_what_has_no_rule():
    equivalent = envwire.envs.spaces.utils.is_space_dtype_shape_equiv
    with pytest.raises(NotImplementedError, match="has no rule for Unregistered"):
        equivalent(Unregistered(), Unregistered())
    with pytest.raises(TypeError, match="Only spaces can be compared"):
        equivalent("space", Unregistered())
