"""The table of a farm's servers, as its gateway sees them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from envwire.server._grammar import counted

if TYPE_CHECKING:
    from envwire.farm.v1 import farm_pb2

COLUMNS = (
    "server",
    "state",
    "sessions",
    "of",
    "ids",
    "silent",
    "pid",
    "version",
    "labels",
)


def cells(server: farm_pb2.ServerStatus) -> list[str]:
    """Returns a server as a table row."""
    from envwire.codec.durations import to_seconds
    from envwire.codec.state_names import state_name
    from envwire.farm.v1 import farm_pb2

    labels = ",".join(f"{name}={value}" for name, value in sorted(server.labels.items()))
    return [
        f"{server.server_id} (tunnel)" if server.tunnelled else server.address,
        state_name(farm_pb2.ServerStatus.State.Name(server.state)),
        str(server.active_sessions),
        str(server.max_sessions),
        str(server.environment_count),
        f"{to_seconds(server.silence):.1f} s",
        str(server.pid or "-"),
        server.version,
        labels or "-",
    ]


def summary(answer: farm_pb2.ListServersResponse) -> str:
    """Returns a one-sentence summary of a farm."""
    active = sum(server.active_sessions for server in answer.servers)
    slots = sum(server.max_sessions for server in answer.servers)
    waiting = f", {counted(answer.waiting, 'Make', 'wait')}" if answer.waiting else ""
    tunnelled = sum(server.tunnelled for server in answer.servers)
    slower = f"; {tunnelled} through tunnels, where steps take longer" if tunnelled else ""
    return f"{counted(len(answer.servers), 'server')}: {active} of {slots} sessions in use{waiting}{slower}"
