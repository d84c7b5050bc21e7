"""`envwire list`: what a server hosts."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from envwire.v1 import environment_pb2 as pb
    from envwire.v1 import specs_pb2

_CONNECT_SECONDS = 5.0


def list_environments(
    target: Annotated[str, typer.Argument(help="HOST:PORT of a server.")],
) -> None:
    """List the environments that the server at TARGET hosts."""
    from envwire.client._transports.by_name import open_transport
    from envwire.client._transports.transport import call
    from envwire.client.errors import RemoteError
    from envwire.v1 import environment_pb2 as pb

    try:
        transport = open_transport("unary", target, _CONNECT_SECONDS)
        with contextlib.closing(transport):
            listing, info = (
                _answer(call(transport, request, _CONNECT_SECONDS))
                for request in (
                    pb.InteractRequest(list_environments=pb.ListEnvironmentsRequest()),
                    pb.InteractRequest(get_server_info=pb.GetServerInfoRequest()),
                )
            )
    except RemoteError as error:
        typer.echo(f"envwire list: {error}", err=True)
        raise typer.Exit(1) from None
    _show(listing.list_environments, info.get_server_info)


def _answer(response: pb.InteractResponse) -> pb.InteractResponse:
    """Returns a response that is no error.

    Raises:
        RemoteError: It is one.
    """
    from envwire.client.errors import exception
    from envwire.codec import decode_fault, envwire_family

    if response.HasField("error"):
        family = envwire_family()
        raise exception(decode_fault(response.error, family), family)
    return response


def _show(listing: pb.ListEnvironmentsResponse, info: pb.GetServerInfoResponse) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table("environment", "library", "episode steps", "reward threshold")
    for entry in listing.environments:
        table.add_row(entry.spec.id, entry.library, _steps(entry.spec), _threshold(entry.spec))
    console = Console()
    console.print(table)
    console.print(
        f"envwire {info.version}: {info.active_sessions} of {info.max_sessions} sessions in use"
        + (", draining" if info.draining else "")
    )


def _steps(spec: specs_pb2.EnvSpec) -> str:
    return str(spec.max_episode_steps) if spec.HasField("max_episode_steps") else "-"


def _threshold(spec: specs_pb2.EnvSpec) -> str:
    kind = spec.reward_threshold.WhichOneof("kind")
    return (
        f"{getattr(spec.reward_threshold, kind):g}" if kind in {"int_value", "float_value"} else "-"
    )
