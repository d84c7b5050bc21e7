"""Functions over spaces and their elements: flattening, and comparing spaces."""

from envwire.envs.spaces.equivalence import is_space_dtype_shape_equiv
from envwire.envs.spaces.flat_space import flatdim, flatten_space
from envwire.envs.spaces.flattening import FlatType, flatten, unflatten

__all__ = [
    "FlatType",
    "flatdim",
    "flatten",
    "flatten_space",
    "is_space_dtype_shape_equiv",
    "unflatten",
]
