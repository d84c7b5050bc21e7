"""A transport that fails on purpose: loses requests, loses answers, delivers requests twice."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from enum import Enum

from envwire.client import ServerUnavailableError, Transport
from envwire.wire.frames import Reply


class Fault(Enum):
    """What happens to one exchange."""

    NONE = "nothing"
    LOSE_REQUEST = "the connection breaks before the server gets the request"
    LOSE_REPLY = "the connection breaks after the server served the request"
    DUPLICATE = "the server gets the request twice, and its second answer arrives"


class FaultyTransport:
    """A transport with faults, around one that works.

    Args:
        transport: Carries what gets through.
        faults: What happens to each exchange, in order; nothing any more when they are used up.

    Attributes:
        committed: The faults so far, `Fault.NONE` left out.

    Example:
        >>> transport = FaultyTransport(InProcessTransport(["CartPole-v1"]), [Fault.NONE, Fault.LOSE_REPLY])
        >>> env = RemoteEnv(None, "CartPole-v1", transport=transport)
    """

    def __init__(self, transport: Transport, faults: Iterable[Fault]) -> None:
        self._transport = transport
        self._faults: Iterator[Fault] = iter(faults)
        self._received: Callable[[], Reply] = transport.receive
        self.committed: list[Fault] = []

    def exchange(self, request: bytes, timeout: float, header: bytes = b"") -> Reply:
        """Sends a request and returns its reply, unless a fault comes between (see `Transport.exchange`).

        Raises:
            ServerUnavailableError: The connection broke on purpose.
        """
        fault = next(self._faults, Fault.NONE)
        if fault is not Fault.NONE:
            self.committed.append(fault)
        if fault is Fault.LOSE_REQUEST:
            raise _broken(fault)
        if fault is Fault.DUPLICATE:
            self._transport.exchange(request, timeout, header)
        reply = self._transport.exchange(request, timeout, header)
        if fault is Fault.LOSE_REPLY:
            raise _broken(fault)
        return reply

    def send(self, request: bytes, timeout: float, header: bytes = b"") -> None:
        """Sends a request; what becomes of it is told by `receive` (see `Transport.send`)."""

        def receive() -> Reply:
            return self.exchange(request, timeout, header)

        self._received = receive

    def receive(self) -> Reply:
        """Returns the reply to what was sent (see `Transport.receive`)."""
        return self._received()

    def fileno(self) -> int:
        """Returns -1: only `receive` can tell."""
        return -1

    def keep_alive(self, request: bytes, header: bytes = b"") -> None:
        """Renews a lease without faults (see `Transport.keep_alive`)."""
        self._transport.keep_alive(request, header)

    def close(self) -> None:
        """Closes the transport inside."""
        self._transport.close()


def _broken(fault: Fault) -> ServerUnavailableError:
    failure = ServerUnavailableError(f"on purpose, {fault.value}")
    failure.connected = True
    return failure
