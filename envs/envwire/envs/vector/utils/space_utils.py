"""What vector environments do with spaces, under the path that Gymnasium has it."""

from envwire.envs.spaces.batching import batch_differing_spaces, batch_space
from envwire.envs.spaces.stacking import concatenate, create_empty_array, iterate

__all__ = [
    "batch_differing_spaces",
    "batch_space",
    "concatenate",
    "create_empty_array",
    "iterate",
]
