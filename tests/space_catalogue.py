"""Awkward spaces, by name, built from either family: Gymnasium's or ours.

``catalogue(gymnasium.spaces)`` and ``catalogue(envwire.envs.spaces)`` have the same names and
equal contents, so tests can run over both in lock step.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

import numpy as np


def catalogue(spaces: Any) -> dict[str, Any]:
    """Returns new, unseeded spaces by name.

    Args:
        spaces: The module with the classes of the spaces.
    """
    return {**_boxes(spaces), **_numbers(spaces), **_texts(spaces), **_composites(spaces)}


def neutral(value: Any) -> Any:
    """Returns an element without classes of its family: graphs become marked tuples.

    What is left can be compared between the families, with all types and dtypes.
    """
    if isinstance(value, dict):
        return {key: neutral(part) for key, part in value.items()}
    if isinstance(value, (tuple, list)):
        parts = [neutral(part) for part in value]
        return ("GraphInstance", *parts) if hasattr(value, "edge_links") else type(value)(parts)
    return value


def _boxes(s: Any) -> dict[str, Any]:
    inf = np.inf
    mixed_low = np.array([-inf, -1.0, -inf, 0.0])
    mixed_high = np.array([inf, 1.0, 5.0, inf])
    return {
        "box_unit": s.Box(0, 1),
        "box_unbounded": s.Box(-inf, inf, (4,)),
        "box_float64_negative_zero": s.Box(
            np.array([-0.0, -1.0]), np.array([0.0, 1.0]), dtype=np.float64
        ),
        "box_float16": s.Box(-2, 2, (3,), np.float16),
        "box_0d": s.Box(-1, 1, (), np.float32),
        "box_0d_int": s.Box(-5, 5, (), np.int32),
        "box_0d_unbounded_array": s.Box(np.array(-inf), np.array(inf), dtype=np.float64),
        "box_empty": s.Box(0, 1, (0,)),
        "box_empty_matrix": s.Box(0, 1, (0, 3)),
        "box_half_bounded_mix": s.Box(mixed_low, mixed_high, dtype=np.float64),
        "box_below_only": s.Box(-3, inf, (2, 2)),
        "box_above_only": s.Box(-inf, 3, (2, 2), np.float64),
        "box_point": s.Box(0.5, 0.5, (2,)),
        "box_huge_floats": s.Box(-3e38, 3e38, (3,), np.float64),
        "box_int8": s.Box(-128, 127, (5,), np.int8),
        "box_uint8_image": s.Box(0, 255, (4, 3, 3), np.uint8),
        "box_int16_high_rank": s.Box(-9, 9, (1, 2, 1, 2), np.int16),
        "box_int32_infinite": s.Box(-inf, inf, (3,), np.int32),
        "box_int64_infinite": s.Box(-inf, inf, (3,), np.int64),
        "box_int64_below_only": s.Box(-7, inf, (3,), np.int64),
        "box_int64_wide": s.Box(-(2**62), 2**62, (3,), np.int64),
        "box_uint32": s.Box(0, 2**32 - 1, (3,), np.uint32),
        "box_uint64": s.Box(0, 2**40, (3,), np.uint64),
        "box_bool": s.Box(0, 1, (4,), bool),
    }


def _numbers(s: Any) -> dict[str, Any]:
    return {
        "discrete": s.Discrete(5),
        "discrete_one": s.Discrete(1),
        "discrete_negative_start": s.Discrete(7, start=-3),
        "discrete_int8": s.Discrete(100, start=-50, dtype=np.int8),
        "discrete_uint8": s.Discrete(6, start=250, dtype=np.uint8),
        "discrete_uint64": s.Discrete(3, dtype=np.uint64),
        "discrete_huge": s.Discrete(2**62),
        "multi_discrete": s.MultiDiscrete([5, 2, 2]),
        "multi_discrete_2d_start": s.MultiDiscrete([[3, 4], [5, 6]], start=[[-1, 0], [10, -20]]),
        "multi_discrete_3d": s.MultiDiscrete(np.arange(1, 9).reshape(2, 2, 2)),
        "multi_discrete_int8": s.MultiDiscrete([100, 2], dtype=np.int8, start=[-50, 1]),
        "multi_discrete_uint64": s.MultiDiscrete([7, 9], dtype=np.uint64),
        "multi_binary": s.MultiBinary(5),
        "multi_binary_3d": s.MultiBinary([2, 1, 3]),
    }


def _texts(s: Any) -> dict[str, Any]:
    return {
        "text": s.Text(8),
        "text_odd_order": s.Text(6, min_length=0, charset="zyxabc"),
        "text_unicode": s.Text(5, min_length=2, charset="äßλ漢🙂 \n"),
        "text_fixed_length": s.Text(4, min_length=4, charset=frozenset("01")),
    }


def _composites(s: Any) -> dict[str, Any]:
    def inner() -> Any:
        return s.Dict({"b": s.Discrete(3, start=-1), "a": s.Box(-1, 1, (2,))})

    return {
        "dict_sorted": inner(),
        "dict_unsorted": s.Dict({"z": s.Discrete(2), "a": s.Box(0, 1, (2,))}, sort_keys=False),
        "dict_ordered": s.Dict(OrderedDict([("z", s.Discrete(2)), ("a", s.MultiBinary(2))])),
        "dict_int_keys": s.Dict({2: s.Discrete(2), 1: s.Box(0, 1, (1,))}),
        "dict_mixed_keys": s.Dict({"x": s.Discrete(2), 1: s.Discrete(3)}),
        "dict_awkward_keys": s.Dict({"a.b": s.Discrete(2), "": s.Discrete(3), "a/b[0]": s.Text(2)}),
        "dict_nested": s.Dict({"o": inner(), "t": s.Tuple([inner(), s.MultiDiscrete([2, 3])])}),
        "dict_empty": s.Dict(),
        "dict_with_empty_parts": s.Dict({"d": s.Dict(), "t": s.Tuple(()), "n": s.Discrete(2)}),
        "tuple": s.Tuple((s.Discrete(2), s.Box(-1, 1, (2,)), s.Text(3))),
        "tuple_empty": s.Tuple(()),
        "tuple_one": s.Tuple((s.MultiBinary([2, 2]),)),
        "tuple_deep": s.Tuple([s.Tuple([s.Tuple([s.Tuple([s.Discrete(4)])])])]),
        "one_of": s.OneOf((s.Discrete(2), s.Box(-1, 1, (3,)))),
        "one_of_nested": s.OneOf((s.OneOf((s.Discrete(3), s.Text(2))), s.MultiDiscrete([2, 2]))),
        "one_of_same_twice": s.OneOf((s.Box(0, 1, (2,)), s.Box(0, 1, (2,)))),
        "one_of_composites": s.OneOf((inner(), s.Tuple((s.Discrete(2), s.Discrete(3))))),
        "sequence": s.Sequence(s.Box(0, 1, (2,))),
        "sequence_stacked": s.Sequence(s.Box(0, 1, (2,)), stack=True),
        "sequence_stacked_discrete": s.Sequence(s.Discrete(4, start=2), stack=True),
        "sequence_of_dict": s.Sequence(inner()),
        "sequence_of_dict_stacked": s.Sequence(inner(), stack=True),
        "sequence_of_text": s.Sequence(s.Text(3)),
        "sequence_of_text_stacked": s.Sequence(s.Text(3), stack=True),
        "sequence_of_sequences": s.Sequence(s.Sequence(s.Discrete(3))),
        "graph": s.Graph(s.Box(-1, 1, (2,)), s.Discrete(3)),
        "graph_without_edges": s.Graph(s.Discrete(5, start=-2), None),
        "graph_of_dicts": s.Graph(inner(), s.Tuple((s.Discrete(2), s.MultiBinary(2)))),
        "graph_of_texts": s.Graph(s.Text(3), s.Text(2)),
        "zoo": s.Dict(
            {
                "graph": s.Graph(s.Box(-1, 1, (2,)), None),
                "choice": s.OneOf((s.Sequence(s.Discrete(3)), s.Dict({"deep": inner()}))),
                "text": s.Text(3, charset="ab"),
                "tuple": s.Tuple((s.Sequence(inner(), stack=True), s.MultiDiscrete([[2], [3]]))),
            }
        ),
    }
