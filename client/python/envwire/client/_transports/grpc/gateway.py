"""What a client asks a farm's gateway: for a ticket to make an environment, and whether a session's server is dead.

The gateway names a server with room and signs a ticket, with which the client makes the environment there. So the
gateway sees no session's secret, and the server sees no token. If this does not work, for example because the client
cannot reach the server, the gateway relays the Make.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from typing import Any

import grpc
from google.protobuf.message import DecodeError

from envwire.client._transports.grpc.grpc_connection import (
    PATHS,
    GrpcConnection,
    open_channel,
    status_of,
)
from envwire.client._transports.targets import ConnectWait
from envwire.client.credentials import Credentials
from envwire.client.errors import RemoteError
from envwire.codec import Reason
from envwire.codec.digests import make_digest
from envwire.codec.errors.statuses import reason_of
from envwire.codec.fastpath.attached_arrays import extract_arrays
from envwire.farm.v1 import farm_pb2
from envwire.v1 import environment_pb2 as pb
from envwire.v1 import status_pb2
from envwire.wire.envelope import RESPONSES
from envwire.wire.frames import Reply

_log = logging.getLogger("envwire.client")

#: The capability of a gateway that issues tickets.
CAPABILITY = "tickets"
_FARM = farm_pb2.DESCRIPTOR.services_by_name["FarmService"].full_name
_ALLOCATE, _LOCATE = f"/{_FARM}/Allocate", f"/{_FARM}/Locate"
_TICKET = "envwire-ticket-bin"
#: Names of the metadata that the client sends to the server as well as to the gateway.
_TRACE = frozenset({"traceparent", "tracestate"})
#: How long to wait for the server; a slower one is reached through the gateway.
_CONNECT = ConnectWait(1.0, refused=False)
_ALLOCATE_SECONDS, _LOCATE_SECONDS = 5.0, 1.0
#: A Make may take as long as its environment needs, but only while its server answers small requests in between:
#: seconds between two of them, seconds for each, and how many fail in a row before the gateway makes the environment.
_CHECK_PAUSE, _CHECK_SECONDS, _CHECKS = 0.2, 1.0, 2


@dataclass(frozen=True)
class TicketCredentials(Credentials):
    """Credentials with a ticket instead of a token.

    Attributes:
        ticket: The ticket.
        trace: The trace that the calls belong to, as metadata.
    """

    ticket: bytes = field(default=b"", repr=False)
    trace: tuple[tuple[str, str | bytes], ...] = ()

    @property
    def metadata(self) -> tuple[tuple[str, str | bytes], ...]:
        """The metadata with the ticket and the trace, for each call."""
        return ((_TICKET, self.ticket), *self.trace)


def make_with_ticket(
    gateway: GrpcConnection, message: bytes, timeout: float
) -> tuple[GrpcConnection, Reply] | None:
    """Makes an environment at a server that a gateway names.

    Args:
        gateway: The connection to a server that may be a gateway.
        message: The MakeRequest.
        timeout: Seconds for the Make.

    Returns:
        The connection to that server and the InteractResponse; None if the gateway has to make it.
    """
    if CAPABILITY not in gateway.info.capabilities:
        return None
    allocation = _allocate(gateway, pb.MakeRequest.FromString(message))
    if allocation is None or not allocation.ticket:
        return None
    credentials = _with_ticket(gateway, allocation.ticket)
    try:
        # If a token would need TLS here, the session's secret does too.
        gateway.credentials.check_target(allocation.address)
        there = GrpcConnection(allocation.address, _CONNECT, credentials)
    except RemoteError as error:
        _log.info("%s has room and is not used: %s", allocation.address, error)
        return None
    reply = _make(there, message, timeout)
    if reply is None:
        there.close()
        return None
    return there, reply


def _allocate(gateway: GrpcConnection, request: pb.MakeRequest) -> farm_pb2.Allocation | None:
    """Returns a slot for a Make; None for a copy, whose server is known, or if the farm has no free slot."""
    if request.HasField("copy_of"):
        return None
    asked = farm_pb2.AllocateRequest(
        count=1,
        env_id=request.env_id,
        library=request.library,
        make_digest=make_digest(request),
    )
    unary: Any = gateway.channel.unary_unary
    try:
        raw = unary(_ALLOCATE)(
            asked.SerializeToString(), timeout=_ALLOCATE_SECONDS, metadata=gateway.metadata
        )
        return next(iter(farm_pb2.AllocateResponse.FromString(raw).allocations), None)
    except (grpc.RpcError, DecodeError):
        return None


def _with_ticket(gateway: GrpcConnection, ticket: bytes) -> TicketCredentials:
    given = {each.name: getattr(gateway.credentials, each.name) for each in fields(Credentials)}
    trace = tuple(each for each in gateway.metadata or () if each[0] in _TRACE)
    given.update(token=None, ticket=ticket, trace=trace)
    return TicketCredentials(**given)


def _make(there: GrpcConnection, message: bytes, timeout: float) -> Reply | None:
    """Makes the environment; returns None if the gateway may know another server."""
    deadline = time.monotonic() + timeout
    try:
        with there.in_use:
            response = _repeated(lambda: _answered(there, message, deadline))
    except _SilentError:
        _log.info("%s accepts connections and does not answer", there.target)
        return None
    except grpc.RpcError as error:
        if status := status_of(error):
            reason = reason_of(status_pb2.ErrorStatus.FromString(status))
            # The gateway finds another server, or relays.
            elsewhere = reason.try_elsewhere or reason is Reason.UNAUTHENTICATED
            return None if elsewhere else Reply(RESPONSES.wrap("error", status))
        failure = there.failure(error, timeout)
        if _is_cut(error):
            _log.info("%s made nothing: %s", there.target, failure)
            return None
        there.close()
        raise failure from error
    address = pb.MakeResponse(address=there.target).SerializeToString()
    return extract_arrays(response + address, "make")


class _SilentError(Exception):
    """A server that accepted a Make does not answer."""


def _answered(there: GrpcConnection, message: bytes, deadline: float) -> bytes:
    """Sends a Make, and returns the answer.

    Raises:
        grpc.RpcError: The Make failed.
        _SilentError: The server does not answer other requests either.
    """
    unary: Any = there.channel.unary_unary
    left = max(deadline - time.monotonic(), 0.0)
    sent = unary(PATHS["make"]).future(message, timeout=left, metadata=there.metadata)
    missed = 0
    try:
        while not _ended(sent):
            missed = 0 if there.answers(_CHECK_SECONDS) else missed + 1
            if missed == _CHECKS:
                raise _SilentError
        response: bytes = sent.result()
        return response
    finally:
        sent.cancel()


def _ended(call: Any) -> bool:
    """Waits for the end of a call for a moment; returns whether it has ended."""
    try:
        call.exception(_CHECK_PAUSE)
    except grpc.FutureTimeoutError:
        return False
    return True


def _repeated(call: Callable[[], bytes]) -> bytes:
    """Makes a call, and once more if its answer may be lost: the server knows a repeat by its request_id."""
    try:
        return call()
    except grpc.RpcError as error:
        if not _is_cut(error):
            raise
        return call()


def _is_cut(error: grpc.RpcError) -> bool:
    return isinstance(error, grpc.Call) and error.code() is grpc.StatusCode.UNAVAILABLE


def is_server_dead(target: str, credentials: Credentials, session_id: str, silent: bool) -> bool:
    """Returns whether a gateway reports that the server of a session is dead, when that server does not answer.

    If `target` is not a gateway, does not answer or does not know, the server counts as alive.

    Args:
        target: HOST:PORT, possibly of a gateway.
        credentials: Certificates and token.
        session_id: The session.
        silent: Whether the server did not answer this client's probes either.
    """
    request = farm_pb2.LocateRequest(session_id=session_id, silent=silent).SerializeToString()
    try:
        with open_channel(target, credentials) as channel:
            unary: Any = channel.unary_unary
            raw = unary(_LOCATE)(request, timeout=_LOCATE_SECONDS, metadata=credentials.metadata)
        answer = farm_pb2.LocateResponse.FromString(raw)
    except (grpc.RpcError, DecodeError, RemoteError):
        return False
    return answer.liveness == farm_pb2.LocateResponse.LIVENESS_DEAD
