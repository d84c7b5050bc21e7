"""Helpers of the fault tests: servers of the hungry environment, and observation of processes from outside."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from envwire.client import RemoteEnv
from envwire.client._transports.by_name import open_transport
from envwire.client._transports.transport import call
from envwire.v1 import environment_pb2 as pb
from tests.faults.hungry_envs import HUNGRY

if TYPE_CHECKING:
    from envwire.server import Server

_POOL = "event_engine"
#: All ways to a session that a fault may be in.
TRANSPORTS = ("unary", "stream", "direct-tcp", "direct-unix")


def serve(**settings: Any) -> Server:
    """Returns a server of the hungry environment, not started."""
    from envwire.server import Server  # clients on systems without servers use this file as well
    from tests.conftest import ROOT

    return Server([HUNGRY], imports=["tests.faults.hungry_envs"], sys_path=(ROOT,), **settings)


def eventually(condition: Callable[[], bool], seconds: float = 60.0) -> bool:
    """Waits for something that other processes bring about; a loaded machine takes its time."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True


def active(target: str, **settings: Any) -> int:
    """Returns how many sessions a server holds, and is about to make."""
    transport = open_transport("unary", target, 5.0, **settings)
    try:
        request = pb.InteractRequest(get_server_info=pb.GetServerInfoRequest())
        return call(transport, request, 5.0).get_server_info.active_sessions
    finally:
        transport.close()


def alive(pid: int) -> bool:
    """Returns whether a process runs; a zombie does not."""
    return _status(pid)[0] not in "ZX"


def parent_of(pid: int) -> int:
    """Returns the number of the process that started `pid`, or inherited it."""
    return _status(pid)[1]


def _status(pid: int) -> tuple[str, int]:
    """Returns state and parent of a process; as of a dead one when it is gone."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return "X", 0
    return fields[0], int(fields[1])


def family_of(pid: int) -> set[int]:
    """Returns `pid` and the numbers of all living processes that descend from it."""
    status = {int(entry): _status(int(entry)) for entry in os.listdir("/proc") if entry.isdigit()}
    parents = {each: parent for each, (state, parent) in status.items() if state not in "ZX"}
    found, size = {pid} & parents.keys(), -1
    while len(found) != size:
        size = len(found)
        found |= {child for child, parent in parents.items() if parent in found}
    return found


def forkserver_of(pid: int) -> int:
    """Returns the process that forks the sessions of a front: its only child."""
    return next(child for child in family_of(pid) if parent_of(child) == pid)


def open_files(pid: int) -> int:
    """Returns how many files a process has open."""
    return len(os.listdir(f"/proc/{pid}/fd"))


def files_named(pid: int, name: str) -> int:
    """Returns the number of a process's open files whose names contain `name`."""
    names: list[str] = []
    for file in Path(f"/proc/{pid}/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):  # closed meanwhile
            names.append(os.readlink(file))
    return sum(name in each for each in names)


def threads_of(pid: int) -> int:
    """Returns how many threads a process has, but for those of `pool_of`."""
    return sum(name != _POOL for name in _names_of_threads(pid))


def pool_of(pid: int) -> int:
    """Returns how many threads are in gRPC's pool of a process: it grows with load and shrinks in peace."""
    return _names_of_threads(pid).count(_POOL)


def _names_of_threads(pid: int) -> list[str]:
    names: list[str] = []
    for task in Path(f"/proc/{pid}/task").iterdir():
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # ended meanwhile
            names.append((task / "comm").read_text().strip())
    return names


def transport_of(env: RemoteEnv) -> Any:
    """Returns the transport inside an environment, for tests that break it."""
    return _inside(env, "_handle", "driver", "transport")


def direct_address(env: RemoteEnv) -> tuple[str, int]:
    """Returns where the direct channel of an environment leads, on TCP."""
    address: str = _inside(transport_of(env), "_dialer", "address")
    host, _, port = address.rpartition(":")
    return host, int(port)


def channel_of(env: RemoteEnv) -> Any:
    """Returns the direct channel of an environment."""
    return _inside(transport_of(env), "_channel")


def resumed(env: RemoteEnv) -> int:
    """Returns how often the session of an environment went on after its connection broke."""
    return env.connection_stats.resumed


def _inside(thing: Any, *names: str) -> Any:
    for name in names:
        thing = getattr(thing, name)
    return thing


def resident_bytes(pid: int) -> int:
    """Returns the memory that a process uses; 0 when it has ended."""
    try:
        pages = Path(f"/proc/{pid}/statm").read_text().split()[1]
    except (FileNotFoundError, ProcessLookupError):
        return 0
    return int(pages) * os.sysconf("SC_PAGESIZE")
