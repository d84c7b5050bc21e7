"""envwire: `RemoteVectorEnv` of CartPole. The variant sets the class, and whether the server steps the batch as arrays.

"native" hosts the vectorised CartPole as one session; "gymnasium" uses the class for Gymnasium's agents.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

import numpy as np

from benchmarks.peers.setup import Setup, Step

#: Module of the class, and its arguments in addition to the target, the id and the number of environments.
VARIANTS: dict[str, tuple[str, dict[str, Any]]] = {
    "envwire": ("envwire.client", {}),
    "gymnasium": ("envwire.client.gymnasium", {}),
    "native": ("envwire.client", {"vectorization_mode": "vector_entry_point"}),
}


def serve(setup: Setup, announce: Callable[[int], None]) -> None:
    """Serves CartPole."""
    from envwire.server import Server

    with Server(["CartPole-v1"], max_sessions=setup.num_envs + 1) as server:
        announce(int(server.target.rpartition(":")[2]))
        threading.Event().wait()


@contextmanager
def connect(setup: Setup, port: int) -> Generator[Step]:
    """Yields one step of a batch."""
    module, options = VARIANTS[setup.variant]
    make: Callable[..., Any] = import_module(module).RemoteVectorEnv
    envs = make(f"127.0.0.1:{port}", "CartPole-v1", num_envs=setup.num_envs, **options)
    try:
        envs.reset(seed=0)
        actions = np.arange(setup.num_envs) % 2
        yield lambda: envs.step(actions)
    finally:
        envs.close()
