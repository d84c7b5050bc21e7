"""What vector environments do with spaces: batch them, and stack and take apart their elements."""

from envwire.envs.spaces.batching import batch_differing_spaces, batch_space
from envwire.envs.spaces.stacking import concatenate, create_empty_array, iterate
from envwire.envs.vector.utils.shared_memory import (
    create_shared_memory,
    read_from_shared_memory,
    write_to_shared_memory,
)

__all__ = [
    "batch_differing_spaces",
    "batch_space",
    "concatenate",
    "create_empty_array",
    "create_shared_memory",
    "iterate",
    "read_from_shared_memory",
    "write_to_shared_memory",
]
