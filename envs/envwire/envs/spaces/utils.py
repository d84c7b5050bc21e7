"""Functions over spaces and their elements: flattening, and comparing spaces."""

from envwire.envs.spaces.equivalence import is_space_dtype_shape_equiv
from envwire.envs.spaces.flat.elements import FlatType, flatten, unflatten
from envwire.envs.spaces.flat.spaces import flatdim, flatten_space

__all__ = [
    "FlatType",
    "flatdim",
    "flatten",
    "flatten_space",
    "is_space_dtype_shape_equiv",
    "unflatten",
]
