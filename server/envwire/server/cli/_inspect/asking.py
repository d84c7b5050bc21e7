"""Asks a server or a gateway by a unary call that is none of EnvironmentService's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import typer

_SECONDS = 5.0


def ask(command: str, target: str, method: Callable[[Any], Any], request: Any) -> Any:
    """Returns the answer to a request; prints why there is none, and exits with status 1.

    Args:
        command: The command's name.
        target: HOST:PORT.
        method: Returns the method of a channel's stub.
        request: The request.
    """
    import grpc

    from envwire.client import Credentials
    from envwire.client._transports.grpc.grpc_connection import open_channel

    credentials = Credentials()
    token = credentials.token
    metadata = (("authorization", f"Bearer {token}"),) if token else ()
    try:
        with open_channel(target, credentials) as channel:
            return method(channel)(request, metadata=metadata, timeout=_SECONDS)
    except grpc.RpcError as error:
        typer.echo(f"envwire {command}: {_worded(error, target)}", err=True)
        raise typer.Exit(1) from None


def _worded(error: Any, target: str) -> str:
    import grpc

    if not isinstance(error, grpc.Call):
        return str(error)
    silent = {grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED}
    return (
        f"no answer from {target}: {error.details()}" if error.code() in silent else error.details()
    )
