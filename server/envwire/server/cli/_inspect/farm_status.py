"""`envwire farm status`: the servers of a farm, as its gateway sees them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from envwire.server._words import counted
from envwire.server.cli._inspect.asking import asking
from envwire.server.cli._parameters import AsJson, target_argument

if TYPE_CHECKING:
    from envwire.farm.v1 import farm_pb2

COLUMNS = ("server", "state", "sessions", "of", "environments", "silent", "version", "labels")


def status(
    target: Annotated[str, target_argument("HOST:PORT of a gateway.")] = "localhost:50050",
    as_json: AsJson = False,
) -> None:
    """List the servers of the farm at TARGET: their state, load and environments.

    Example: envwire farm status localhost:50050

    In a pipe the columns are separated by tabs.
    """
    from envwire.farm.v1 import farm_pb2, farm_pb2_grpc

    answer: farm_pb2.ListServersResponse
    with asking("farm status", target, farm_pb2_grpc.FarmServiceStub) as ask:
        answer = ask("ListServers", farm_pb2.ListServersRequest())
    if as_json:
        from google.protobuf.json_format import MessageToJson

        typer.echo(MessageToJson(answer, preserving_proto_field_name=True))
    else:
        from envwire.server.cli._inspect.tables import print_table

        print_table(COLUMNS, map(cells, answer.servers), summary(answer))


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
