"""Helpers of the fault tests: servers of the hungry environment, and observation of processes from outside."""

from __future__ import annotations

import contextlib
import os
import signal
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
    fields = _told(pid, "stat").rpartition(")")[2].split()
    return (fields[0], int(fields[1])) if fields else ("X", 0)


def _told(pid: int | str, name: str) -> str:
    """Returns what the kernel tells of a process; nothing if it has ended, perhaps meanwhile."""
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        return Path(f"/proc/{pid}/{name}").read_text()
    return ""


def parents() -> dict[int, int]:
    """Returns all living processes, and the parent of each."""
    status = {int(entry): _status(int(entry)) for entry in os.listdir("/proc") if entry.isdigit()}
    return {pid: parent for pid, (state, parent) in status.items() if state not in "ZX"}


def family_of(pid: int) -> set[int]:
    """Returns `pid` and the numbers of all living processes that descend from it."""
    living = parents()
    found, size = {pid} & living.keys(), -1
    while len(found) != size:
        size = len(found)
        found |= {child for child, parent in living.items() if parent in found}
    return found


def children_of(*pids: int) -> list[int]:
    """Returns the living processes that some have started."""
    return sorted(child for child, parent in parents().items() if parent in pids)


def sessions_of(server: Server) -> list[int]:
    """Returns the living processes of a server's sessions."""
    return children_of(*children_of(server.pid))


def kill(pid: int, number: int = signal.SIGKILL) -> None:
    """Sends a signal to a process, which may have ended by itself."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)


def kill_sessions(server: Server) -> None:
    """Kills all processes of a server's sessions."""
    for pid in sessions_of(server):
        kill(pid)


def forkserver_of(pid: int) -> int:
    """Returns the process that forks the sessions of a front: its only child."""
    return children_of(pid)[0]


def files_of(pid: int | str) -> list[str]:
    """Returns the names of a process's open files; none if it has ended."""
    names: list[str] = []
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        for file in Path(f"/proc/{pid}/fd").iterdir():
            with contextlib.suppress(FileNotFoundError):  # closed meanwhile
                names.append(os.readlink(file))
    return names


def open_files(pid: int) -> int:
    """Returns how many files a process has open."""
    return len(files_of(pid))


def files_named(pid: int | str, name: str) -> int:
    """Returns the number of a process's open files whose names contain `name`."""
    return sum(name in each for each in files_of(pid))


def address_space(pid: int | str) -> str:
    """Returns what a process has in its address space, a line for each part."""
    return _told(pid, "maps")


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


def processor_seconds(pid: int) -> float:
    """Returns the processor time that a process has used; 0 when it has ended."""
    fields = _told(pid, "stat").rpartition(")")[2].split()
    return sum(map(int, fields[11:13])) / os.sysconf("SC_CLK_TCK")


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


def resident_bytes(pid: int | str) -> int:
    """Returns the memory that a process uses; 0 when it has ended."""
    pages = _told(pid, "statm").split()[1:2]
    return sum(map(int, pages)) * os.sysconf("SC_PAGESIZE")
