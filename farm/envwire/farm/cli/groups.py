"""`envwire farm groups`, `scale`, `pause` and `resume`: the groups of a farm, and orders to them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from envwire.server.cli._inspect.asking import asking
from envwire.server.cli._parameters import AsJson, target_argument

if TYPE_CHECKING:
    from envwire.farm.v1 import farm_pb2

_COLUMNS = ("group", "state", "engine", "servers", "sessions", "waiting", "ids", "last error")
_Target = Annotated[str, typer.Option("--target", help="HOST:PORT of the gateway.")]
_Group = Annotated[str, typer.Argument(help="Name of the group.")]
_HERE = "localhost:50050"


def groups(
    target: Annotated[str, target_argument("HOST:PORT of a gateway.")] = _HERE,
    as_json: AsJson = False,
) -> None:
    """List the groups of the farm at TARGET: what they do, their servers, and what waits for them.

    Example: envwire farm groups localhost:50050

    In a pipe the columns are separated by tabs.
    """
    from envwire.farm.v1 import farm_pb2, farm_pb2_grpc

    answer: farm_pb2.ListGroupsResponse
    with asking("farm groups", target, farm_pb2_grpc.FarmServiceStub) as ask:
        answer = ask("ListGroups", farm_pb2.ListGroupsRequest())
    if as_json:
        from google.protobuf.json_format import MessageToJson

        typer.echo(MessageToJson(answer, preserving_proto_field_name=True))
    else:
        from envwire.server._grammar import counted
        from envwire.server.cli._console import print_table

        waiting = sum(each.waiting for each in answer.groups)
        told = f"{counted(len(answer.groups), 'group')}, {counted(waiting, 'Make', 'wait')}"
        print_table(_COLUMNS, map(_cells, answer.groups), told)


def _cells(group: farm_pb2.GroupStatus) -> list[str]:
    from envwire.codec.messages import state_name, to_seconds
    from envwire.farm.v1 import farm_pb2

    state = state_name(farm_pb2.GroupStatus.State.Name(group.state))
    starting = f" +{group.starting_servers}" if group.starting_servers else ""
    ago = f" ({to_seconds(group.last_error_age):.0f} s ago)" if group.last_error else ""
    return [
        group.name,
        f"{state} ({group.doing})" if group.doing else state,
        group.engine,
        f"{group.servers}{starting} of {group.min_servers}-{group.max_servers}",
        str(group.active_sessions),
        str(group.waiting),
        " ".join(group.environments),
        f"{group.last_error or '-'}{ago}",
    ]


def scale(
    group: _Group,
    count: Annotated[int, typer.Argument(help="Fewest servers.", min=0)],
    target: _Target = _HERE,
) -> None:
    """Keep at least COUNT servers of GROUP, used or not, until the farm restarts.

    A pause after a failure ends: its servers are started at once.

    Example: envwire farm scale pusht 2
    """
    from envwire.farm.v1 import farm_pb2, farm_pb2_grpc

    with asking("farm scale", target, farm_pb2_grpc.FarmServiceStub) as ask:
        ask("ScaleGroup", farm_pb2.ScaleGroupRequest(group=group, count=count))


def pause(group: _Group, target: _Target = _HERE) -> None:
    """Pause GROUP: its idle servers stop, it starts no others, and Makes that find no slot are refused.

    Example: envwire farm pause pusht
    """
    _pause("farm pause", group, target, paused=True)


def resume(group: _Group, target: _Target = _HERE) -> None:
    """Resume GROUP, which `envwire farm pause` paused.

    Example: envwire farm resume pusht
    """
    _pause("farm resume", group, target, paused=False)


def _pause(command: str, group: str, target: str, *, paused: bool) -> None:
    from envwire.farm.v1 import farm_pb2, farm_pb2_grpc

    with asking(command, target, farm_pb2_grpc.FarmServiceStub) as ask:
        ask("PauseGroup", farm_pb2.PauseGroupRequest(group=group, paused=paused))
