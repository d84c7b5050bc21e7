"""`envwire health` and `envwire doctor`: whether a server is up, and what keeps a client from it or from being fast."""

from __future__ import annotations

import os
from contextlib import closing
from typing import TYPE_CHECKING, Annotated, Any

import typer

from envwire.server.cli._failures import reporting, stop
from envwire.server.cli._parameters import Target

if TYPE_CHECKING:
    import grpc

_NO_SERVER = (
    "the gateway at {target} answers, but no server is in its farm; "
    "start one with `envwire serve ... --join {target}`"
)
_MARKS = {True: ("ok", "green"), False: ("failed", "red"), None: ("note", "yellow")}


def _open_channel(target: str) -> grpc.Channel:
    """Opens a channel as environment variables say; imports the client only if there are any."""
    if not {"ENVWIRE_CA", "ENVWIRE_CERT", "ENVWIRE_HTTP_PROXY"} & os.environ.keys():
        import grpc

        from envwire.wire.addresses import NO_PROXY

        return grpc.insecure_channel(target, [NO_PROXY])
    from envwire.client import Credentials
    from envwire.client._transports.grpc.grpc_connection import open_channel

    return open_channel(target, Credentials(token=None))


def _identified(target: str) -> tuple[grpc.Channel, Any]:
    """Opens a channel; returns it with the metadata of this client's token, if it has one."""
    if not {"ENVWIRE_TOKEN", "ENVWIRE_TOKEN_FILE"} & os.environ.keys():
        return _open_channel(target), None
    from envwire.client import Credentials
    from envwire.client._transports.grpc.grpc_connection import open_channel

    credentials = Credentials()
    return open_channel(target, credentials), credentials.metadata


def health(
    target: Target,
    timeout: Annotated[float, typer.Option(min=0.1, help="Seconds to wait for an answer.")] = 3.0,
) -> None:
    """Ask the server at TARGET for its health; exit 0 when it is serving, 3 when it is a farm without a server.

    Exits 1 otherwise.

    Example: envwire health localhost:50051
    """
    import grpc
    from grpc_health.v1 import health_pb2, health_pb2_grpc

    try:
        with _open_channel(target) as channel:
            stub: Any = health_pb2_grpc.HealthStub(channel)
            answer = stub.Check(health_pb2.HealthCheckRequest(), timeout=timeout)
    except grpc.RpcError as error:
        from envwire.server.cli._inspect.asking import unanswered

        details = (error.details() if isinstance(error, grpc.Call) else None) or str(error)
        stop("health", f"{unanswered(target, details)}; `envwire doctor {target}` finds out why")
    except (OSError, ValueError) as error:  # the credentials cannot be used
        stop("health", error)
    if answer.status == health_pb2.HealthCheckResponse.SERVING and not _serves(target, timeout):
        stop("health", _NO_SERVER.format(target=target), 3)
    typer.echo(health_pb2.HealthCheckResponse.ServingStatus.Name(answer.status))
    if answer.status != health_pb2.HealthCheckResponse.SERVING:
        raise typer.Exit(1)


def _serves(target: str, timeout: float) -> bool:
    """Returns whether environments can be made there, as far as it says: with tokens, only to callers that have one."""
    import grpc
    from grpc_health.v1 import health_pb2, health_pb2_grpc

    try:
        opened, metadata = _identified(target)
        with opened as channel:
            stub: Any = health_pb2_grpc.HealthStub(channel)
            asked = health_pb2.HealthCheckRequest(service="envwire.v1.EnvironmentService")
            answer = stub.Check(asked, timeout=timeout, metadata=metadata)
    except (grpc.RpcError, OSError, ValueError):  # it is well, whether or not it knows this caller
        return True
    return bool(answer.status != health_pb2.HealthCheckResponse.NOT_SERVING)


def doctor(
    target: Target,
    env_id: Annotated[
        str, typer.Option("--env-id", help="Environment to step; by default one that it hosts.")
    ] = "",
) -> None:
    """Diagnose the connection to the server at TARGET: address, TLS, token, versions, direct channel.

    Makes an environment there and steps it. Exits 1 if a client cannot use the server; each finding says what to do.

    Example: envwire doctor localhost:50051
    """
    from envwire.client import Credentials
    from envwire.server.cli._inspect.diagnosis import CheckedServer, diagnose

    well = True
    with reporting("doctor"):
        credentials = Credentials()
    with closing(CheckedServer(target, env_id, credentials)) as server:
        for name, passed, text in diagnose(server):
            mark, colour = _MARKS[passed]
            typer.echo(f"{name:<15} {typer.style(f'{mark:<7}', fg=colour)} {text}")
            well = well and passed is not False
    if not well:
        raise typer.Exit(1)
