"""Functions of vector environments for spaces and processes."""

from envwire.envs.spaces.batched_elements import concatenate, create_empty_array, iterate
from envwire.envs.spaces.batched_spaces import batch_differing_spaces, batch_space
from envwire.envs.vector.utils.misc import CloudpickleWrapper, clear_mpi_env_vars
from envwire.envs.vector.utils.shared_memory import (
    create_shared_memory,
    read_from_shared_memory,
    write_to_shared_memory,
)

__all__ = [
    "CloudpickleWrapper",
    "batch_differing_spaces",
    "batch_space",
    "clear_mpi_env_vars",
    "concatenate",
    "create_empty_array",
    "create_shared_memory",
    "iterate",
    "read_from_shared_memory",
    "write_to_shared_memory",
]
