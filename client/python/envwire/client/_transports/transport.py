"""The transport interface, through which all I/O of a client goes."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Final, Protocol, runtime_checkable

from google.protobuf.message import DecodeError

from envwire.client._errors import broken_answer
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
