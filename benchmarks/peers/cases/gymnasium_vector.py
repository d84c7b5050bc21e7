"""Gymnasium's own CartPole batches, in this process or in its workers. The variant is the vectorisation mode."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

import gymnasium
import numpy as np

from benchmarks.peers.setup import Setup, Step


@contextmanager
def connect(setup: Setup, port: int) -> Generator[Step]:
    """Yields one step of a batch."""
    del port
    envs = gymnasium.make_vec("CartPole-v1", setup.num_envs, vectorization_mode=setup.variant)
    try:
        envs.reset(seed=0)
        actions = np.arange(setup.num_envs) % 2
        yield lambda: envs.step(actions)
    finally:
        envs.close()
