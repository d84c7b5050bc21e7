"""envwire: `RemoteEnv` on the trivial environment. The variant is the transport."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager

from benchmarks.peers.setup import Setup, Step

SIZED = "benchmarks/Sized-v0"


def serve(setup: Setup, announce: Callable[[int], None]) -> None:
    """Serves the trivial environment, one process for each session."""
    from envwire.server import Server

    imports = ("benchmarks.peers.cases.envwire_sized",)
    with Server([SIZED], imports=imports, max_sessions=setup.clients + 1) as server:
        announce(int(server.target.rpartition(":")[2]))
        threading.Event().wait()


@contextmanager
def connect(setup: Setup, port: int) -> Generator[Step]:
    """Yields one step."""
    from envwire.client import RemoteEnv

    env = RemoteEnv(f"127.0.0.1:{port}", SIZED, transport=setup.variant, size=setup.size)
    try:
        env.reset(seed=0)
        yield lambda: env.step(0)
    finally:
        env.close()
