"""Arguments that make no space are refused as Gymnasium refuses them; bounds keep their meaning."""

import gymnasium.spaces
import numpy as np
import pytest

import envwire.envs.spaces
from envwire.envs import spaces
from tests.each import each

INF, NAN = np.inf, np.nan
BAD = [
    (lambda s: s.Box(0, 1, dtype=None), ValueError),
    (lambda s: s.Box(0, 1, dtype=np.complex64), ValueError),
    (lambda s: s.Box(0, 1, dtype=object), ValueError),
    (lambda s: s.Box(0, 1, dtype="unknown"), TypeError),
    (lambda s: s.Box(0, 1, 3), TypeError),
    (lambda s: s.Box(0, 1, (1, None)), TypeError),
    (lambda s: s.Box(np.zeros(3), np.ones(2)), ValueError),
    (lambda s: s.Box(np.zeros(2), 1, (3,)), ValueError),
    (lambda s: s.Box(0, np.ones(2), (3,)), ValueError),
    (lambda s: s.Box([0, 0], [1, 1]), ValueError),
    (lambda s: s.Box("a", 1), ValueError),
    (lambda s: s.Box(False, True, dtype=bool), ValueError),
    (lambda s: s.Box(np.array(["a"]), 1), ValueError),
    (lambda s: s.Box(2, 1), ValueError),
    (lambda s: s.Box(NAN, 1), ValueError),
    (lambda s: s.Box(0, np.array([NAN, 1])), ValueError),
    (lambda s: s.Box(NAN, 1, dtype=np.int8), ValueError),
    (lambda s: s.Box(-1, 1, dtype=np.uint8), ValueError),
    (lambda s: s.Box(0, 256, dtype=np.uint8), ValueError),
    (lambda s: s.Box(0, np.array([300]), dtype=np.uint8), ValueError),
    (lambda s: s.Box(0, 1e5, dtype=np.float16), ValueError),
    (lambda s: s.Box(0, 2, dtype=bool), ValueError),
    (lambda s: s.Box(-INF, 1, dtype=np.uint8), ValueError),
    (lambda s: s.Box(0, np.array([1, INF]), dtype=np.uint8), ValueError),
    (lambda s: s.Box(0, 1).is_bounded("left"), ValueError),
    (lambda s: s.Box(0, 1).seed("a"), (envwire.envs.error.Error, gymnasium.error.Error)),
    (lambda s: s.Discrete(0), ValueError),
    (lambda s: s.Discrete(-1), ValueError),
    (lambda s: s.Discrete(2.0), TypeError),
    (lambda s: s.Discrete(True), TypeError),
    (lambda s: s.Discrete(2, start=0.5), TypeError),
    (lambda s: s.Discrete(2, dtype=None), TypeError),
    (lambda s: s.Discrete(2, dtype=np.float32), TypeError),
    (lambda s: s.MultiBinary(0), ValueError),
    (lambda s: s.MultiBinary([2, 0]), ValueError),
    (lambda s: s.MultiBinary(2.0), ValueError),
    (lambda s: s.MultiDiscrete([2, 0]), ValueError),
    (lambda s: s.MultiDiscrete([2], dtype=None), ValueError),
    (lambda s: s.MultiDiscrete([2], dtype=float), ValueError),
    (lambda s: s.MultiDiscrete([2, 2], start=[1]), ValueError),
    (lambda s: s.Text(-1), ValueError),
    (lambda s: s.Text(2, min_length=-1), ValueError),
    (lambda s: s.Text(2, min_length=3), ValueError),
    (lambda s: s.Text(2.0), TypeError),
    (lambda s: s.Text(2, min_length=1.0), TypeError),
    (lambda s: s.Text(2, charset=["a", "bc"]), ValueError),
    (lambda s: s.Text(2).character_index("!"), KeyError),
    (lambda s: s.Dict(5), TypeError),
    (lambda s: s.Dict({"a": 5}), TypeError),
    (lambda s: s.Dict(a=5), TypeError),
    (lambda s: s.Dict({"a": s.Discrete(2)}, a=s.Discrete(3)), ValueError),
    (lambda s: s.Dict().__setitem__("a", 5), TypeError),
    (lambda s: s.Dict(a=s.Discrete(2)).seed([1]), TypeError),
    (lambda s: s.Dict(a=s.Discrete(2)).seed({"b": 1}), ValueError),
    (lambda s: s.Dict(a=s.Discrete(2)).seed(np.int64(1)), TypeError),
    (lambda s: s.Tuple(5), TypeError),
    (lambda s: s.Tuple([5]), TypeError),
    (lambda s: s.Tuple("ab"), TypeError),
    (lambda s: s.Tuple([s.Discrete(2)]).seed((1, 2)), ValueError),
    (lambda s: s.Tuple([s.Discrete(2)]).seed(0.5), TypeError),
    (lambda s: s.OneOf(5), TypeError),
    (lambda s: s.OneOf(()), ValueError),
    (lambda s: s.OneOf([5]), TypeError),
    (lambda s: s.OneOf([s.Discrete(2)]).seed((1,)), ValueError),
    (lambda s: s.OneOf([s.Discrete(2)]).seed("a"), TypeError),
    (lambda s: s.Sequence(5), TypeError),
    (lambda s: s.Sequence(s.Discrete(2)).seed((1, 2, 3)), ValueError),
    (lambda s: s.Sequence(s.Discrete(2)).seed("a"), TypeError),
    (lambda s: s.Graph(5, None), TypeError),
    (lambda s: s.Graph(s.Discrete(2), 5), TypeError),
    (lambda s: s.Graph(s.Discrete(2), None).seed((1, 2, 3)), ValueError),
    (lambda s: s.Graph(s.Discrete(2), s.Discrete(2)).seed((1, 2)), ValueError),
    (lambda s: s.Graph(s.Discrete(2), None).seed(0.5), TypeError),
    (lambda s: s.Space().sample(), NotImplementedError),
    (lambda s: s.Space().contains(1), NotImplementedError),
    (lambda s: s.Space().is_np_flattenable, NotImplementedError),
]


@pytest.mark.parametrize("family", [envwire.envs.spaces, gymnasium.spaces], ids=["own", "gym"])
@pytest.mark.filterwarnings("ignore:.*precision lowered")
@each(("build", "error"), BAD)
def test_arguments_that_make_no_space(build, error, family):
    with pytest.raises(error):
        build(family)


@pytest.mark.parametrize("arguments", [{"n": 300}, {"n": 2, "start": -1}])
def test_numbers_that_do_not_fit_the_dtype(arguments):
    with pytest.raises(OverflowError, match="must be between 0 and 255, got"):
        spaces.Discrete(**arguments, dtype=np.uint8)


def test_bounds_are_never_written_to():
    low, high = np.array([-INF, 0]), np.array([5, INF])
    box = spaces.Box(low, high, dtype=np.int32)
    assert low[0] == -INF
    assert high[1] == INF
    assert box.low.tolist() == [-(2**31), 0]
    assert box.high.tolist() == [5, 2**31 - 1]
    assert (box.bounded_below.tolist(), box.bounded_above.tolist()) == (
        [False, True],
        [True, False],
    )


def test_an_open_int64_bound_is_the_exact_limit():
    box = spaces.Box(np.array([-INF, 0.0]), np.array([0.0, INF]), dtype=np.int64)
    assert (box.low[0], box.high[1]) == (-(2**63), 2**63 - 1)
    assert box.sample() in box


@pytest.mark.parametrize("bounds", [(300, 301), (np.array([300]), np.array([400]))])
def test_an_integer_bound_beyond_the_dtype_on_the_other_side_is_refused(bounds):
    with pytest.raises(ValueError, match="in the range of uint8, 0 to 255; got 300"):
        spaces.Box(*bounds, dtype=np.uint8)


@pytest.mark.parametrize("high", [2**63 - 1, 2**63 - 2])
def test_an_int64_box_up_to_the_limit_can_be_sampled(high):
    box = spaces.Box(0, high, (100,), np.int64, seed=1)
    assert box.sample() in box
    assert box.sample().max() > 2**62


def test_a_precision_that_is_lost_warns():
    with pytest.warns(UserWarning, match="low's precision lowered by casting to float16"):
        spaces.Box(np.zeros(2, np.float32), 1, dtype=np.float16)


def test_a_box_takes_what_is_not_an_array_with_a_warning():
    with pytest.warns(UserWarning, match="Casting input x to numpy array"):
        assert [0.5] in spaces.Box(0, 1)


@pytest.mark.parametrize(
    "charset", [frozenset("cab"), {"b", "c", "a"}, "aabc", ["a", "b", "c", "a"]]
)
def test_a_charset_has_one_order_whatever_it_came_in(charset):
    assert spaces.Text(3, charset=charset).character_list == ("a", "b", "c")


def test_a_text_knows_its_characters_by_place():
    text = spaces.Text(3, charset="zay")
    assert text.characters == "ayz"
    assert text.character_set == frozenset("ayz")
    assert [text.character_index(char) for char in "zay"] == [0, 1, 2]
    assert spaces.Text(3, charset="\0", seed=0).sample().strip("\0") == ""


def test_ragged_rows_are_no_elements():
    assert [[0], [0, 1]] not in spaces.MultiBinary((2, 2))
    assert [[0], [0, 1]] not in spaces.MultiDiscrete([[2, 2], [2, 2]])


@pytest.mark.parametrize("space", [spaces.Discrete(2), spaces.Box(0, 1), spaces.Dict()])
def test_spaces_are_equal_by_value_and_so_not_hashable(space):
    with pytest.raises(TypeError, match="unhashable"):
        hash(space)
