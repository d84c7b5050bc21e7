"""`envwire farm usage`: who has used a farm, for accounting."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from envwire.server.cli._inspect.asking import asking
from envwire.server.cli._parameters import AsJson, target_argument

if TYPE_CHECKING:
    from envwire.farm.v1 import farm_pb2

_COLUMNS = ("client", "environment", "sessions", "open", "slot seconds")


def usage(
    target: Annotated[str, target_argument("HOST:PORT of a gateway.")] = "localhost:50050",
    as_json: AsJson = False,
) -> None:
    """List what clients have used of the farm at TARGET since its gateway started: sessions, and time of their slots.

    Example: envwire farm usage localhost:50050 --json

    In a pipe the columns are separated by tabs.
    """
    from envwire.farm.v1 import farm_pb2, farm_pb2_grpc

    answer: farm_pb2.ListUsageResponse
    with asking("farm usage", target, farm_pb2_grpc.FarmServiceStub) as ask:
        answer = ask("ListUsage", farm_pb2.ListUsageRequest())
    if as_json:
        from google.protobuf.json_format import MessageToJson

        typer.echo(MessageToJson(answer, preserving_proto_field_name=True))
    else:
        from envwire.codec.messages import to_seconds
        from envwire.server.cli._console import print_table

        total = sum(each.slot_milliseconds for each in answer.usage) / 1000
        since = to_seconds(answer.since) / 3600
        print_table(
            _COLUMNS, map(_cells, answer.usage), f"{total:.0f} slot seconds in {since:.1f} h"
        )


def _cells(usage: farm_pb2.Usage) -> list[str]:
    return [
        usage.principal,
        usage.env_id or "-",
        str(usage.sessions),
        str(usage.open_sessions),
        f"{usage.slot_milliseconds / 1000:.1f}",
    ]
