"""Calls methods of services other than EnvironmentService on a server or a gateway."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any

from envwire.server.cli._failures import reporting, stop

_SECONDS = 5.0


@contextmanager
def asking(
    command: str, target: str, stub: Callable[[Any], Any], seconds: float | None = _SECONDS
) -> Generator[Callable[[str, Any], Any]]:
    """Opens a connection and yields a function that calls a method and returns its answer.

    If the credentials cannot be used or a call fails, it prints why and exits with status 1.

    Args:
        command: The command's name.
        target: HOST:PORT.
        stub: Creates the service's stub for a channel.
        seconds: Timeout of each call; None for long-lived streams.
    """
    import grpc

    from envwire.client import Credentials
    from envwire.client._transports.grpc.grpc_connection import open_channel

    with reporting(command):
        credentials = Credentials()
        opened = open_channel(target, credentials)
    try:
        with opened as channel:
            service = stub(channel)
            yield lambda method, request: getattr(service, method)(
                request, metadata=credentials.metadata, timeout=seconds
            )
    except grpc.RpcError as error:
        stop(command, _describe_error(error, target))


def unanswered(target: str, details: str) -> str:
    """Describes a call that got no answer, in fewer words than gRPC if all addresses refused the connection."""
    from envwire.client import Credentials
    from envwire.client._errors import unavailable_through
    from envwire.client._transports.grpc.grpc_connection import is_refusal
    from envwire.client._transports.resolving import proxy_variable

    if variable := proxy_variable(target, Credentials(token=None)):
        return str(unavailable_through(variable, target, details))
    if is_refusal(details):
        return f"nothing listens at {target}"
    return f"no answer from {target}: {details}"


def _describe_error(error: Any, target: str) -> str:
    import grpc

    from envwire.server._front.grpc.edge import STATUS_KEY

    if not isinstance(error, grpc.Call):
        return str(error)
    if STATUS_KEY in dict(error.trailing_metadata() or ()):
        return error.details()
    if error.code() in {grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED}:
        return f"{unanswered(target, error.details())}; is it running there, and is the port right?"
    if error.code() is grpc.StatusCode.UNIMPLEMENTED:
        return f"{target} does not offer this: a server where a gateway is needed, or an older one"
    return error.details()
