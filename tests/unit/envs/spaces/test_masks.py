"""Masks and probabilities steer sampling as Gymnasium's do, and are refused alike."""

import gymnasium
import numpy as np
import pytest

import envwire.envs as own
from envwire.testing.comparing import identical as same
from tests.space_catalogue import neutral


def m(*entries):
    return np.array(entries, np.int8)


def p(*entries):
    return np.array(entries, np.float64)


SPACES = {
    "discrete": lambda s: s.Discrete(3, start=-1),
    "discrete_uint8": lambda s: s.Discrete(3, start=250, dtype=np.uint8),
    "multi_binary": lambda s: s.MultiBinary([2, 2]),
    "multi_discrete": lambda s: s.MultiDiscrete([2, 3], start=[5, -5], dtype=np.int16),
    "multi_discrete_2d": lambda s: s.MultiDiscrete([[2, 3], [1, 2]]),
    "text": lambda s: s.Text(5, min_length=2, charset="dcba"),
    "text_empty": lambda s: s.Text(5, min_length=0, charset="dcba"),
    "tuple": lambda s: s.Tuple((s.Discrete(3), s.Box(0, 1))),
    "dict": lambda s: s.Dict(a=s.Discrete(3), b=s.Box(0, 1)),
    "one_of": lambda s: s.OneOf((s.Discrete(3), s.MultiBinary(2))),
    "sequence": lambda s: s.Sequence(s.Discrete(3)),
    "sequence_stacked": lambda s: s.Sequence(s.Discrete(3), stack=True),
    "graph": lambda s: s.Graph(s.Discrete(3), s.Discrete(2)),
    "graph_of_boxes": lambda s: s.Graph(s.Box(0, 1), None),
    "box": lambda s: s.Box(0, 1),
}
HALF = p(0.5, 0.5, 0.0)
GOOD = [
    ("discrete", {"mask": m(1, 0, 1)}),
    ("discrete", {"mask": m(0, 0, 0)}),
    ("discrete", {"probability": p(0.2, 0.3, 0.5)}),
    ("discrete_uint8", {"mask": m(0, 1, 1)}),
    ("discrete_uint8", {"probability": HALF}),
    ("multi_binary", {"mask": np.array([[0, 1], [2, 2]], np.int8)}),
    ("multi_binary", {"probability": np.array([[0.0, 1.0], [0.3, 0.7]])}),
    ("multi_discrete", {"mask": (m(0, 0), m(1, 0, 1))}),
    ("multi_discrete", {"probability": (p(0.1, 0.9), HALF)}),
    ("multi_discrete_2d", {"mask": ((m(1, 1), m(0, 1, 1)), (m(1), m(0, 0)))}),
    ("multi_discrete_2d", {"probability": ((p(0.5, 0.5), HALF), (p(1), p(0, 1)))}),
    ("text", {"mask": (3, None)}),
    ("text", {"mask": (None, m(1, 0, 1, 0))}),
    ("text", {"mask": (np.int64(4), m(0, 0, 0, 1))}),
    ("text", {"probability": (None, p(0.1, 0.2, 0.3, 0.4))}),
    ("text_empty", {"mask": (0, None)}),
    ("text_empty", {"mask": (None, m(0, 0, 0, 0))}),
    ("tuple", {"mask": (m(0, 0, 1), None)}),
    ("tuple", {"probability": (HALF, None)}),
    ("dict", {"mask": {"b": None, "a": m(0, 1, 0)}}),
    ("dict", {"probability": {"a": HALF, "b": None}}),
    ("one_of", {"mask": (m(1, 1, 0), m(0, 2))}),
    ("one_of", {"probability": (HALF, None)}),
    ("sequence", {"mask": (3, m(0, 1, 1))}),
    ("sequence", {"mask": (np.array([2, 5]), None)}),
    ("sequence", {"mask": (None, m(0, 1, 1))}),
    ("sequence", {"probability": (0, HALF)}),
    ("sequence_stacked", {"probability": (4, HALF)}),
    ("graph", {"mask": ((m(1, 0, 0), m(0, 1, 1)), m(0, 1)), "num_nodes": 2}),
    ("graph", {"mask": (None, (m(1, 0), m(1, 1))), "num_edges": 2}),
    ("graph", {"probability": ((HALF, HALF), p(0.5, 0.5)), "num_nodes": 2}),
    ("graph", {"num_nodes": 1}),
    ("graph", {"num_nodes": 1, "num_edges": 3}),
    ("graph", {"num_edges": 0}),
]
BAD = [
    ("discrete", {"mask": [1, 0, 1]}, AssertionError),
    ("discrete", {"mask": m(1, 0)}, AssertionError),
    ("discrete", {"mask": m(1, 0, 2)}, AssertionError),
    ("discrete", {"mask": np.array([1, 0, 1])}, AssertionError),
    ("discrete", {"probability": np.array([1, 0, 0])}, AssertionError),
    ("discrete", {"probability": p(0.5, 0.6, 0)}, AssertionError),
    ("discrete", {"probability": p(-0.5, 1, 0.5)}, AssertionError),
    ("discrete", {"mask": m(1, 0, 1), "probability": HALF}, ValueError),
    ("multi_binary", {"mask": m(1, 0)}, AssertionError),
    ("multi_binary", {"mask": np.full((2, 2), 3, np.int8)}, AssertionError),
    ("multi_binary", {"probability": np.full((2, 2), 1.5)}, AssertionError),
    ("multi_discrete", {"mask": [m(1, 1), m(1, 1, 1)]}, AssertionError),
    ("multi_discrete", {"mask": (m(1, 1),)}, AssertionError),
    ("multi_discrete", {"mask": (m(1, 1), m(1, 1))}, AssertionError),
    ("multi_discrete", {"probability": (p(0.5, 0.5), p(0, 0, 0))}, AssertionError),
    ("text", {"mask": m(1, 1, 1, 1)}, AssertionError),
    ("text", {"mask": (1, None)}, AssertionError),
    ("text", {"mask": (2.0, None)}, AssertionError),
    ("text", {"mask": (None, m(1, 1))}, AssertionError),
    ("text", {"mask": (3, m(0, 0, 0, 0))}, ValueError),
    ("text", {"probability": (None, p(1, 1, 0, 0))}, AssertionError),
    ("tuple", {"mask": [None, None]}, AssertionError),
    ("tuple", {"mask": (None,)}, AssertionError),
    ("tuple", {"mask": (None, None), "probability": (None, None)}, ValueError),
    ("dict", {"mask": {"a": None}}, AssertionError),
    ("dict", {"mask": (None, None)}, AssertionError),
    ("one_of", {"mask": (None,)}, AssertionError),
    ("sequence", {"mask": (-1, None)}, AssertionError),
    ("sequence", {"mask": (np.array([[1]]), None)}, AssertionError),
    ("sequence", {"mask": (np.array([1.0]), None)}, AssertionError),
    ("sequence", {"mask": (np.array([-1]), None)}, AssertionError),
    ("sequence", {"mask": ("3", None)}, TypeError),
    ("graph", {"num_nodes": 0}, AssertionError),
    ("graph", {"num_edges": -1}, AssertionError),
    ("box", {"mask": m(1)}, own.error.Error),
    ("box", {"probability": p(1)}, own.error.Error),
    ("graph_of_boxes", {"mask": ((m(1),) * 10, None)}, own.error.Error),
]


@pytest.mark.parametrize(("name", "kwargs"), GOOD)
def test_steered_samples_are_gymnasiums(name, kwargs):
    ours, theirs = (SPACES[name](module.spaces) for module in (own, gymnasium))
    assert same(ours.seed(42), theirs.seed(42))
    for _ in range(6):
        sample = ours.sample(**kwargs)
        assert same(neutral(sample), neutral(theirs.sample(**kwargs)))
        assert sample in ours


@pytest.mark.parametrize(("name", "kwargs", "error"), BAD)
def test_masks_that_do_not_fit_are_refused(name, kwargs, error):
    with pytest.raises(error):
        SPACES[name](own.spaces).sample(**kwargs)
    theirs = gymnasium.error.Error if error is own.error.Error else error
    with pytest.raises(theirs):
        SPACES[name](gymnasium.spaces).sample(**kwargs)


def test_edges_asked_of_a_graph_without_any_warn():
    space = own.spaces.Graph(own.spaces.Discrete(3), None)
    with pytest.warns(UserWarning, match="num_edges=5 has no effect"):
        assert space.sample(num_edges=5).edges is None


def test_a_masked_entry_keeps_a_start_beyond_float_precision():
    space = own.spaces.MultiDiscrete([3], np.uint64, start=[2**64 - 3])
    assert space.sample(mask=(m(0, 0, 1),)).tolist() == [2**64 - 1]


class Zeros(np.random.Generator):
    """Draws the smallest number of the unit interval, and nothing else."""

    def random(self, size=None, dtype=np.float64, out=None):
        return np.zeros(size, dtype)


def test_what_has_no_chance_is_never_drawn():
    space = own.spaces.MultiBinary(2, seed=Zeros(np.random.PCG64(0)))
    assert space.sample(probability=p(0, 1)).tolist() == [0, 1]
