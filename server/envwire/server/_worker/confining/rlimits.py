"""Resource limits of a session process, set by the process itself before it makes an environment.

Memory is limited by RLIMIT_DATA, which counts private writable memory. RLIMIT_AS would also count mapped files and
reserved addresses, of which numerical libraries take far more than they use. Limits are inherited and apply to each
process that an environment starts, not to their sum; to limit the sum, run the server in a container. A container must
also limit the number of processes, since RLIMIT_NPROC counts all processes of a user.
"""

from __future__ import annotations

import contextlib
import resource
from collections.abc import Iterator
from pathlib import Path

from envwire.server.config import ServerConfig


def contain(config: ServerConfig) -> None:
    """Limits this process from now on; lower limits set by the system stay."""
    for limit, soft, hard in _limits(config):
        # A sandbox may refuse, and has its own limits.
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(limit, (_lower(limit, soft), _lower(limit, hard)))


def _lower(limit: int, value: int) -> int:
    _, highest = resource.getrlimit(limit)
    return value if highest == resource.RLIM_INFINITY else min(value, highest)


def _limits(config: ServerConfig) -> Iterator[tuple[int, int, int]]:
    """Yields (limit, soft, hard)."""
    if memory := config.max_session_memory:
        allowed = _data_bytes() + memory
        yield resource.RLIMIT_DATA, allowed, allowed
    if cpu := config.max_session_cpu:
        # SIGXCPU comes first and names the cause; an environment that catches it is killed a second later.
        yield resource.RLIMIT_CPU, cpu, cpu + 1
    if files := config.max_session_files:
        yield resource.RLIMIT_NOFILE, files, files


def _data_bytes() -> int:
    """Returns the private memory, in bytes, that the process already has from the fork server."""
    status = Path("/proc/self/status").read_text()
    lines = dict(line.split(":", 1) for line in status.splitlines())
    return int(lines["VmData"].split()[0]) * 1024
