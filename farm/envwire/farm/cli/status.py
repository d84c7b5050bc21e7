"""`envwire farm status`: the servers of a farm, as its gateway sees them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from envwire.server.cli._inspect.asking import asking
from envwire.server.cli._parameters import AsJson, target_argument

if TYPE_CHECKING:
    from envwire.farm.v1 import farm_pb2


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
        from envwire.server.cli._console import print_table
        from envwire.server.cli._inspect.top import COLUMNS, cells, summary

        print_table(COLUMNS, map(cells, answer.servers), summary(answer))
