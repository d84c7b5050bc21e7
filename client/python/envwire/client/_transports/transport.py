"""The transport interface, through which all I/O of a client goes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection
from typing import TYPE_CHECKING, Final

from google.protobuf.message import DecodeError

from envwire.client._errors import broken, broken_answer
from envwire.client.credentials import Credentials
from envwire.v1 import environment_pb2
from envwire.wire.frames import Area, Reply

if TYPE_CHECKING:
    from envwire.client._session.client_device import ClientDevice

#: Instead of a descriptor: there is nothing to wait for.
ARRIVED: Final = -2


class Transport(ABC):
    """Carries requests to a server, one at a time, in order.

    Subclasses implement the abstract methods. Without the others they lack a feature, and clients do without. A
    transport around another one passes on all that the other one can do.
    """

    @abstractmethod
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

    @abstractmethod
    def send(self, request: bytes, timeout: float, header: bytes = b"") -> None:
        """First half of `exchange`: sends the request, so that several servers can work at the same time.

        Raises:
            ServerUnavailableError: As `exchange`.
        """

    @abstractmethod
    def receive(self) -> Reply:
        """Second half of `exchange`: waits for the reply to the request sent last.

        Raises:
            ServerUnavailableError: As `exchange`.
            RequestTimeoutError: As `exchange`.
        """

    @abstractmethod
    def fileno(self) -> int:
        """Returns a descriptor that is readable once a reply has arrived.

        It is `ARRIVED` if one has arrived already, and -1 if only `receive` can tell.
        """

    @abstractmethod
    def keep_alive(self, request: bytes, header: bytes = b"") -> None:
        """Sends a request that renews a lease, without waiting for the reply.

        It may be called while `exchange` waits. It does nothing if the open connection itself keeps the session alive.
        """

    @abstractmethod
    def close(self) -> None:
        """Releases the transport's resources without waiting. Closing twice is harmless."""

    def set_buffer(self, buffer: Area) -> None:  # noqa: B027 - some transports lack it
        """Offers a buffer for the attachments of the next reply; it is used if its length is exactly theirs."""

    @property
    def pipelines(self) -> bool:
        """Whether the open connection carries several requests at a time; False if none is open.

        While requests are in flight, only `send_ahead` and `receive_ahead` are called; after a failure of one of them,
        the connection is closed, and none is in flight.
        """
        return False

    def send_ahead(self, request: bytes, timeout: float, header: bytes = b"") -> None:
        """Sends a request without waiting for earlier replies; never opens a connection.

        Raises:
            ServerUnavailableError: The connection broke; all requests in flight may have been served.
        """
        del request, timeout, header
        raise broken("the connection carries one request at a time")

    def receive_ahead(self, timeout: float) -> Reply:
        """Waits for the reply to the oldest request in flight; for its errors see `receive`."""
        del timeout
        raise broken("the connection carries one request at a time")

    def probe(self, timeout: float) -> bool:
        """Returns whether the server answers within `timeout` seconds, on a separate connection.

        Other threads call it, while a request waits for its reply. A transport that cannot tell says that it answers.
        """
        del timeout
        return True

    def interrupt(self) -> None:  # noqa: B027 - some transports lack it
        """Breaks the connection: a waiting `exchange` or `receive` raises ServerUnavailableError.

        Other threads call it.
        """

    def share(self, device: ClientDevice) -> None:  # noqa: B027 - some transports lack it
        """Has the next connection share memory of a device with the session."""

    def watch_path(self, seconds: float) -> None:  # noqa: B027 - some transports lack it
        """Has the next connection fail when its path showed no sign of life for this time."""

    def compress(self, when: str) -> None:  # noqa: B027 - some transports lack it
        """Says when the server of the next connection may compress arrays: "auto", "zstd" or "off"."""

    @property
    def front(self) -> tuple[str, Credentials] | None:
        """HOST:PORT of the front of the session's server, and the credentials for it; None if they are not known.

        They are a gateway's if the server itself cannot be reached.
        """
        return None

    @property
    def abilities(self) -> Collection[str]:
        """What the front says that it can do."""
        return ()


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
