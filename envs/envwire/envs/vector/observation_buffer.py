"""The batch of observations of an `AsyncVectorEnv`, in shared memory or filled from pipes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from envwire.envs.error import CustomSpaceError
from envwire.envs.vector.utils import (
    concatenate,
    create_empty_array,
    create_shared_memory,
    read_from_shared_memory,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from envwire.envs.spaces import Space


class ObservationBuffer:
    """Room for one observation of each sub-environment.

    Args:
        space: The observation space of one sub-environment.
        num_envs: The number of sub-environments.
        shared: Whether the processes write into the batch themselves.
        context: The `multiprocessing` context of the processes.

    Attributes:
        observations: The batch; its arrays are reused by the next one.
        memory: The shared memory that processes write to; ``None`` if it is not shared.

    Raises:
        ValueError: The batch should be shared, and there is no rule for such a space.
        TypeError: The batch should be shared, and the space has no fixed size.
    """

    def __init__(self, space: Space[Any], num_envs: int, *, shared: bool, context: Any) -> None:
        self._space = space
        self.memory: Any = None
        self.observations: Any
        if not shared:
            self.observations = create_empty_array(space, n=num_envs, fn=np.zeros)
            return
        try:
            self.memory = create_shared_memory(space, n=num_envs, ctx=context)
        except CustomSpaceError as exc:
            raise ValueError(f"{space} needs shared_memory=False") from exc
        self.observations = read_from_shared_memory(space, self.memory, n=num_envs)

    def fill(self, observations: Iterable[Any]) -> Any:
        """Returns the batch, filled with ``observations`` unless the processes filled it."""
        if self.memory is None:
            self.observations = concatenate(self._space, observations, self.observations)
        return self.observations
