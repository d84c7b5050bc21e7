"""Our spaces and Gymnasium's, side by side over the catalogue: they must not differ."""

import copy
import pickle

import gymnasium.spaces
import numpy as np
import pytest

import envwire.envs.spaces
from envwire.testing.comparing import identical as same
from tests.each import each
from tests.space_catalogue import catalogue, neutral

OURS, THEIRS = catalogue(envwire.envs.spaces), catalogue(gymnasium.spaces)
NAMES = list(OURS)
EVERY_SPACE = each("name", NAMES)
SEEDS = (0, 7, 2**70)


def twins(name):
    return copy.deepcopy(OURS[name]), copy.deepcopy(THEIRS[name])


def test_the_catalogue_is_large_and_has_every_class():
    classes = {type(space).__name__ for space in OURS.values()}
    assert len(OURS) >= 45
    assert classes == set(envwire.envs.spaces.__all__) - {
        "Space", "GraphInstance", "flatdim", "flatten", "flatten_space", "unflatten"
    }  # fmt: skip


def test_the_public_names_are_gymnasiums():
    assert set(envwire.envs.spaces.__all__) == set(gymnasium.spaces.__all__)


@EVERY_SPACE
@pytest.mark.parametrize("seed", SEEDS)
def test_the_same_seed_draws_the_same_elements(name, seed):
    ours, theirs = twins(name)
    seeds = ours.seed(seed)
    assert same(seeds, theirs.seed(seed))
    first = [neutral(ours.sample()) for _ in range(8)]
    assert same(first, [neutral(theirs.sample()) for _ in range(8)])
    ours.seed(seeds)  # what `seed` returns can be given back to it
    if not isinstance(ours, (envwire.envs.spaces.Dict, envwire.envs.spaces.Tuple)):
        assert same(first, [neutral(ours.sample()) for _ in range(8)])


@EVERY_SPACE
def test_a_seed_leaves_every_generator_in_the_same_state(name):
    ours, theirs = twins(name)
    for space in (ours, theirs):
        space.seed(99)
    assert same(_states(ours), _states(theirs))


@EVERY_SPACE
def test_attributes_and_text_are_the_same(name):
    ours, theirs = twins(name)
    assert repr(ours) == repr(theirs)
    for attribute in ("shape", "dtype", "is_np_flattenable"):
        assert getattr(ours, attribute) == getattr(theirs, attribute)
    public = {key for key in vars(theirs) if not key.startswith("_")} - {"low_repr", "high_repr"}
    assert public <= set(vars(ours))


@each("name", [name for name in NAMES if name.startswith("box")])
def test_bounds_are_the_same(name):
    ours, theirs = twins(name)
    for field in ("low", "high"):
        assert same(getattr(ours, field), getattr(theirs, field))
    for field in ("bounded_below", "bounded_above"):
        assert isinstance(getattr(ours, field), np.ndarray)
        assert np.array_equal(getattr(ours, field), getattr(theirs, field))
    for manner in ("both", "below", "above"):
        assert ours.is_bounded(manner) is theirs.is_bounded(manner)


@EVERY_SPACE
def test_equality_is_the_same_as_theirs(name):
    ours, theirs = twins(name)
    for other in NAMES:
        assert (ours == OURS[other]) is bool(theirs == THEIRS[other]), other


@EVERY_SPACE
@pytest.mark.filterwarnings("ignore:.*Casting input x to numpy array")
def test_samples_are_elements_and_json_brings_them_back(name):
    import json

    ours, _ = twins(name)
    ours.seed(3)
    samples = [ours.sample() for _ in range(4)]
    assert all(ours.contains(sample) is True and sample in ours for sample in samples)
    back = ours.from_jsonable(json.loads(json.dumps(ours.to_jsonable(samples))))
    # The one difference: Gymnasium draws a scalar, not an array, from an integer Box of shape ().
    rebuilt = [np.int32(sample) for sample in back] if name == "box_0d_int" else back
    assert same(rebuilt, samples)


#: Batches whose JSON form Gymnasium cannot read back, so that ours has to differ.
OWN_JSON = {
    "dict_empty", "dict_with_empty_parts", "tuple_empty", "one_of_composites", "graph_of_texts",
    "sequence_of_text_stacked", "zoo",
}  # fmt: skip


@each("name", [name for name in NAMES if name not in OWN_JSON])
def test_the_json_form_is_the_same(name):
    ours, theirs = twins(name)
    for space in (ours, theirs):
        space.seed(3)
    samples = [[space.sample() for _ in range(4)] for space in (ours, theirs)]
    assert same(ours.to_jsonable(samples[0]), theirs.to_jsonable(samples[1]))


@EVERY_SPACE
@pytest.mark.parametrize(
    "clone",
    [copy.deepcopy, lambda space: pickle.loads(pickle.dumps(space))],
    ids=["copy", "pickle"],
)
def test_copies_have_the_generators_too(name, clone):
    space, _ = twins(name)
    assert clone(space) == space
    space.seed(11)
    space.sample()
    twin = clone(space)
    assert same([twin.sample() for _ in range(5)], [space.sample() for _ in range(5)])


@EVERY_SPACE
@pytest.mark.filterwarnings("ignore:.*Casting input x", "ignore:overflow:RuntimeWarning")
@pytest.mark.filterwarnings("ignore:NumPy will stop allowing:DeprecationWarning")
def test_contains_says_what_theirs_says_of_anything(name):
    ours, theirs = twins(name)
    for value in VALUES:
        try:
            expected = bool(theirs.contains(value))
        except (
            TypeError,
            ValueError,
            LookupError,
            gymnasium.error.CustomSpaceError,
        ):  # it was not written for such a value
            expected = False
        assert ours.contains(value) is expected, value


VALUES = [
    *(None, "", "ab", 0, 1, -1, True, 3.0, 10**30, (), [], {}, {"a": 1}),
    *(np.int8(1), np.uint64(3), np.float32(1), np.bool_(True), (0, 1), [1, 0, 1, 1, 0]),
    *((np.int64(0), np.int64(1)), (np.int32(0), np.int64(1)), {1: np.zeros(1, np.float32), 2: 0}),
    *(np.array(1), np.zeros(2), np.zeros(2, np.float32), np.ones((2, 2), np.int8)),
    *(np.zeros((0, 3), np.float16), np.array([2, 1, 1]), np.array([np.nan, 0.0])),
]


def _states(space):
    """Returns the states of the space's generator and of those inside, depth first."""
    parts = getattr(space, "spaces", ())
    parts = list(parts.values() if isinstance(parts, dict) else parts)
    parts += [getattr(space, name, None) for name in ("feature_space", "node_space", "edge_space")]
    own = getattr(space._np_random, "bit_generator", None)
    inner = [state for part in parts if part is not None for state in _states(part)]
    return [own and own.state, *inner]
