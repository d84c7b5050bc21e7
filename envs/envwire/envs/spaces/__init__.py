"""Spaces: the sets of values that observations and actions are taken from.

The fundamental ones are `Box`, `Discrete`, `MultiBinary`, `MultiDiscrete` and `Text`; `Dict`,
`Tuple`, `OneOf`, `Sequence` and `Graph` are built from other spaces. All have a generator of their
own, draw the same values from the same seed as Gymnasium's spaces, and need nothing but numpy.
"""

from envwire.envs.spaces.box import Box
from envwire.envs.spaces.dict import Dict
from envwire.envs.spaces.discrete import Discrete
from envwire.envs.spaces.graph import Graph, GraphInstance
from envwire.envs.spaces.multi_binary import MultiBinary
from envwire.envs.spaces.multi_discrete import MultiDiscrete
from envwire.envs.spaces.oneof import OneOf
from envwire.envs.spaces.sequence import Sequence
from envwire.envs.spaces.space import Space
from envwire.envs.spaces.text import Text
from envwire.envs.spaces.tuple import Tuple
from envwire.envs.spaces.utils import flatdim, flatten, flatten_space, unflatten

__all__ = [
    "Box",
    "Dict",
    "Discrete",
    "Graph",
    "GraphInstance",
    "MultiBinary",
    "MultiDiscrete",
    "OneOf",
    "Sequence",
    "Space",
    "Text",
    "Tuple",
    "flatdim",
    "flatten",
    "flatten_space",
    "unflatten",
]
