"""The transport interface, through which all I/O of a client goes, and transports by name."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, Final, Protocol, runtime_checkable

from google.protobuf.message import DecodeError

from envwire.client._errors import broken_answer
from envwire.client._transports.resolving import pinned
from envwire.client._transports.targets import ConnectWait, checked
from envwire.client.credentials import Credentials
from envwire.v1 import environment_pb2
from envwire.wire.frames import Area, Reply

if TYPE_CHECKING:
    from envwire.client._session.client_device import ClientDevice


#: Instead of a descriptor: there is nothing to wait for.
ARRIVED: Final = -2


@runtime_checkable
class Transport(Protocol):
    """Carries requests to a server, one at a time, in order.

    A transport may also implement `InPlace`, `Pipelined`, `Probeable`, `DeviceSharing` and `HasEndpoint`. A wrapper
    has to implement those of the transport inside it, because a client silently does without what it does not find.
    """

    def exchange(self, request: bytes, timeout: float, header: bytes = b"") -> Reply:
        """Sends an InteractRequest and returns the InteractResponse, which may be an error.

        Args:
            request: The request, serialised.
            timeout: Seconds to wait for the reply.
            header: The session header (see `envwire.wire.envelope`). It is inserted into the request unless the
                connection belongs to the session.

        Raises:
            ServerUnavailableError: The server cannot be reached; the request may have been served.
            RequestTimeoutError: No reply arrived in time; the request may have been served.
        """
        ...

    def send(self, request: bytes, timeout: float, header: bytes = b"") -> None:
        """First half of `exchange`: sends the request, so that several servers can work at the same time.

        Raises:
            ServerUnavailableError: As `exchange`.
        """

    def receive(self) -> Reply:
        """Second half of `exchange`: waits for the reply to the request sent last.

        Raises:
            ServerUnavailableError: As `exchange`.
            RequestTimeoutError: As `exchange`.
        """
        ...

    def fileno(self) -> int:
        """Returns a descriptor that is readable once a reply has arrived.

        It is `ARRIVED` if one has arrived already, and -1 if only `receive` can tell.
        """
        ...

    def keep_alive(self, request: bytes, header: bytes = b"") -> None:
        """Sends a request that renews a lease, without waiting for the reply.

        It may be called while `exchange` waits. It does nothing if the open connection itself keeps the session alive.
        """

    def close(self) -> None:
        """Releases the transport's resources without waiting. Closing twice is harmless."""


@runtime_checkable
class InPlace(Protocol):
    """A transport that can receive large arrays into a given buffer."""

    def set_buffer(self, buffer: Area) -> None:
        """Offers a buffer for the attachments of the next reply; it is used if its length is exactly theirs."""


@runtime_checkable
class Pipelined(Protocol):
    """A transport over which requests can be sent before earlier ones are answered.

    While requests are in flight, only these methods are called; after a failure of one of them, the connection is
    closed, and none is in flight.
    """

    @property
    def pipelines(self) -> bool:
        """Whether the open connection carries several requests at a time; False if none is open."""
        ...

    def send_ahead(self, request: bytes, timeout: float, header: bytes = b"") -> None:
        """Sends a request without waiting for earlier replies; never opens a connection.

        Raises:
            ServerUnavailableError: The connection broke; all requests in flight may have been served.
        """

    def receive_ahead(self, timeout: float) -> Reply:
        """Waits for the reply to the oldest request in flight; for its errors see `Transport.receive`."""
        ...


@runtime_checkable
class Probeable(Protocol):
    """A transport whose server can be probed while it waits for a reply, and whose wait can be ended.

    Both methods are called from other threads.
    """

    def probe(self, timeout: float) -> bool:
        """Returns whether the server answers within `timeout` seconds, on a separate connection."""
        ...

    def interrupt(self) -> None:
        """Breaks the connection: a waiting `exchange` or `receive` raises ServerUnavailableError."""


@runtime_checkable
class DeviceSharing(Protocol):
    """A transport over which memory of a device can be shared with the session."""

    def share(self, device: ClientDevice) -> None:
        """Has the next connection share memory of a device."""


@runtime_checkable
class PathWatching(Protocol):
    """A transport that notices when the path to its server is dead."""

    def watch_path(self, seconds: float) -> None:
        """Has the next connection fail when there was no sign of life for this time."""


@runtime_checkable
class Compressing(Protocol):
    """A transport whose server can compress arrays."""

    def compress(self, when: str) -> None:
        """Says when the server of the next connection may compress: "auto", "zstd" or "off"."""


@runtime_checkable
class HasEndpoint(Protocol):
    """A transport that knows the address of the front of its session's server."""

    @property
    def front(self) -> tuple[str, Credentials]:
        """HOST:PORT, and the credentials for it; a gateway's, if the server itself cannot be reached."""
        ...

    @property
    def abilities(self) -> Collection[str]:
        """What the front says that it can do."""
        ...


def call(
    transport: Transport, request: environment_pb2.InteractRequest, timeout: float
) -> environment_pb2.InteractResponse:
    """Sends a message and returns the parsed reply; for arguments and errors see `Transport.exchange`.

    Raises:
        RemoteError: The reply cannot be parsed.
    """
    try:
        reply = transport.exchange(request.SerializeToString(), timeout)
        return environment_pb2.InteractResponse.FromString(reply.message)
    except DecodeError as error:
        raise broken_answer(request.WhichOneof("request") or "", error) from error


DEFAULT = "direct"

# Clients fork: AsyncVectorEnv makes one environment to read its spaces, then starts workers. Without its fork support,
# gRPC often hangs or crashes in them. gRPC reads this variable once, when it is imported.
os.environ.setdefault("GRPC_ENABLE_FORK_SUPPORT", "1")


def _grpc(name: str, target: str, wait: ConnectWait, credentials: Credentials) -> Transport:
    from envwire.client._transports.grpc.grpc_transports import StreamTransport
    from envwire.client._transports.grpc.unary import UnaryTransport

    kinds: dict[str, Callable[..., Transport]] = {
        "unary": UnaryTransport,
        "stream": StreamTransport,
    }
    return kinds[name](target, wait, credentials)


def _direct(name: str, target: str, wait: ConnectWait, credentials: Credentials) -> Transport:
    from envwire.client._transports.direct.direct import DirectTransport

    def open_grpc(control: str, front: tuple[str, Credentials]) -> Transport:
        return _grpc(control, front[0], wait, front[1])

    return DirectTransport(target, name, open_grpc, credentials)


Opener = Callable[[str, str, ConnectWait, Credentials], Transport]

TRANSPORTS: dict[str, Opener] = {
    "unary": _grpc,
    "stream": _grpc,
    "direct": _direct,
    "direct-tcp": _direct,
    "direct-unix": _direct,
}


def open_transport(
    transport: str | Transport | None,
    target: str | None,
    connect_timeout: float | ConnectWait | None,
    credentials: Credentials | None = None,
) -> Transport:
    """Opens a transport.

    Args:
        transport: A name, an open transport, or None for the default.
        target: The server; required for a transport by name.
        connect_timeout: Seconds to wait for the server, even one that has not started yet. None: 10 for a server that
            does not answer, and no wait if connections are refused.
        credentials: Certificates and token; by default from the ENVWIRE_* environment variables.

    Raises:
        TypeError: The target is not a string.
        ValueError: The name is unknown, or the target is missing or has no port.
        InvalidRequestError: The token would be sent without TLS over a network.
        ServerUnavailableError: No server answers, or no secure connection can be made.
    """
    if isinstance(transport, Transport):
        return transport
    name = transport or DEFAULT
    open_named = opener(name)
    if not target:
        raise ValueError(f"transport {name!r} needs a target, HOST:PORT")
    target = checked(target)
    credentials = credentials or Credentials()
    credentials.check_target(target)
    wait = ConnectWait.of(connect_timeout)
    address, credentials = pinned(target, wait, credentials)
    return open_named(name, address, wait, credentials)


def opener(name: str) -> Opener:
    """Returns what opens the transport of a name, which it takes as its first argument.

    Raises:
        ValueError: The name is unknown.
    """
    if name not in TRANSPORTS:
        raise ValueError(f"unknown transport {name!r}; choose one of {', '.join(TRANSPORTS)}")
    return TRANSPORTS[name]
