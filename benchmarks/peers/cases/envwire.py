"""envwire: `RemoteEnv` on the trivial environment. The variant is a transport, or a transport with server settings."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager

from benchmarks.peers.setup import Setup, Step

SIZED = "benchmarks/Sized-v0"

#: Variants that are more than a transport: the transport's name, and the server's settings.
SETTINGS: dict[str, tuple[str, dict[str, int]]] = {
    "direct-shm": ("direct-unix", {"shared_memory": 128 * 2**20}),
    "direct-tcp, packed": ("direct-tcp", {"sessions_per_process": 32}),
}


def serve(setup: Setup, announce: Callable[[int], None]) -> None:
    """Serves the trivial environment, one process for each session."""
    from envwire.server import Server

    imports = ("benchmarks.peers.cases.envwire_sized",)
    _, settings = SETTINGS.get(setup.variant, ("", {}))
    with Server([SIZED], imports=imports, max_sessions=setup.clients + 1, **settings) as server:
        announce(int(server.target.rpartition(":")[2]))
        threading.Event().wait()


@contextmanager
def connect(setup: Setup, port: int) -> Generator[Step]:
    """Yields one step."""
    from envwire.client import RemoteEnv

    transport, _ = SETTINGS.get(setup.variant, (setup.variant, {}))
    env = RemoteEnv(f"127.0.0.1:{port}", SIZED, transport=transport, size=setup.size)
    try:
        env.reset(seed=0)
        yield lambda: env.step(0)
    finally:
        env.close()
