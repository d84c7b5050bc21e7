"""The transport interface: all I/O of the client happens behind it."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from envwire.client.credentials import Credentials
from envwire.v1 import environment_pb2
from envwire.wire.frames import Area, Reply


@runtime_checkable
class Transport(Protocol):
    """Carries requests to a server, one at a time, in order."""

    def exchange(self, request: bytes, timeout: float, header: bytes = b"") -> Reply:
        """Sends an InteractRequest and returns the InteractResponse, which may hold an error.

        Args:
            request: The request, serialised.
            timeout: Seconds to wait for the reply.
            header: Says whose the request is (see `envwire.wire.envelope`), where nothing else does: it is put into the
                request unless the connection is the session's own.

        Raises:
            ServerUnavailableError: The server cannot be reached; the request may or may not have been served.
            RequestTimeoutError: No reply came in time; the request may or may not be served.
        """
        ...

    def send(self, request: bytes, timeout: float, header: bytes = b"") -> None:
        """Does the first half of an exchange, so that several servers can work at the same time.

        Raises:
            ServerUnavailableError: As `exchange`.
        """
        ...

    def receive(self) -> Reply:
        """Does the second half of an exchange, for what was sent last.

        Raises:
            ServerUnavailableError: As `exchange`.
            RequestTimeoutError: As `exchange`.
        """
        ...

    def fileno(self) -> int:
        """Returns a descriptor that is readable once a reply has come; -1 where only `receive` can tell."""
        ...

    def keep_alive(self, request: bytes, header: bytes = b"") -> None:
        """Sends a request that renews a lease, and waits for nothing.

        It may be called while `exchange` waits. It does nothing where the open transport itself keeps its sessions.
        """
        ...

    def close(self) -> None:
        """Frees what the transport holds, without waiting. Closing twice is harmless."""
        ...


@runtime_checkable
class InPlace(Protocol):
    """A transport that receives large arrays where they are to stay."""

    def offer(self, buffer: Area) -> None:
        """Says where the attachments of the next reply shall go if they are just as long."""
        ...


@runtime_checkable
class Probeable(Protocol):
    """A transport whose server can be asked for a sign of life while it waits, and whose wait can be ended.

    Both are called from other threads.
    """

    def probe(self, timeout: float) -> bool:
        """Returns whether the server answers within `timeout` seconds, on a separate connection."""
        ...

    def interrupt(self) -> None:
        """Breaks the connection: `exchange` or `receive`, if it waits, raises ServerUnavailableError."""
        ...


@runtime_checkable
class Fronted(Protocol):
    """A transport that knows where the front of its session's server is."""

    @property
    def front(self) -> tuple[str, Credentials]:
        """HOST:PORT, and certificates and token for it; a gateway's where the server itself is not reached."""
        ...


def call(
    transport: Transport, request: environment_pb2.InteractRequest, timeout: float
) -> environment_pb2.InteractResponse:
    """Sends a message and returns the reply as one; for arguments and errors see `Transport.exchange`."""
    reply = transport.exchange(request.SerializeToString(), timeout)
    return environment_pb2.InteractResponse.FromString(reply.message)
