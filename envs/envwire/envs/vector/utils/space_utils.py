"""Batching functions for vector environments; the module path is Gymnasium's."""

from envwire.envs.spaces.batched_elements import concatenate, create_empty_array, iterate
from envwire.envs.spaces.batched_spaces import batch_differing_spaces, batch_space

__all__ = [
    "batch_differing_spaces",
    "batch_space",
    "concatenate",
    "create_empty_array",
    "iterate",
]
