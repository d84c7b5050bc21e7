"""EnvPool: CartPole in C++, stepped by threads of this process. A local reference for the speed of batches."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

import envpool
import numpy as np

from benchmarks.peers.setup import Setup, Step


@contextmanager
def connect(setup: Setup, port: int) -> Generator[Step]:
    """Yields one step of a batch."""
    del port
    envs = envpool.make("CartPole-v1", env_type="gymnasium", num_envs=setup.num_envs, seed=0)
    try:
        envs.reset()
        actions = np.arange(setup.num_envs) % 2
        yield lambda: envs.step(actions)
    finally:
        envs.close()
