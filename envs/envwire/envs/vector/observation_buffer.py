"""The batch of observations of an `AsyncVectorEnv`, in shared memory or filled from pipes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from envwire.envs.error import CustomSpaceError
from envwire.envs.vector.utils import (
    create_empty_array,
    create_shared_memory,
    read_from_shared_memory,
)

if TYPE_CHECKING:
    from envwire.envs.spaces import Space


def allocate(space: Space[Any], num_envs: int, shared: bool, context: Any) -> tuple[Any, Any]:
    """Makes room for one observation of each sub-environment.

    Args:
        space: The observation space of one sub-environment.
        num_envs: The number of sub-environments.
        shared: Whether the processes write into the batch themselves.
        context: The `multiprocessing` context of the processes.

    Returns:
        The batch, and the shared memory that processes write to; ``None`` if it is not shared.

    Raises:
        ValueError: The batch should be shared, and there is no rule for such a space.
        TypeError: The batch should be shared, and the space has no fixed size.
    """
    if not shared:
        return create_empty_array(space, n=num_envs, fn=np.zeros), None
    try:
        memory = create_shared_memory(space, n=num_envs, ctx=context)
    except CustomSpaceError as exc:
        raise ValueError(f"{space} needs shared_memory=False") from exc
    return read_from_shared_memory(space, memory, n=num_envs), memory
