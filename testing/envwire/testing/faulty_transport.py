"""A transport that injects faults: loses requests, loses answers, delivers requests twice."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from enum import Enum
from functools import partial

from envwire.client import ServerUnavailableError, Transport
from envwire.wire.frames import Reply


class Fault(Enum):
    """The fault that happens to one exchange."""

    NONE = "nothing"
    LOSE_REQUEST = "the connection breaks before the server gets the request"
    LOSE_REPLY = "the connection breaks after the server served the request"
    DUPLICATE = "the server gets the request twice, and its second answer arrives"


class FaultyTransport(Transport):
    """A transport that wraps another one and injects faults.

    Args:
        transport: The transport to wrap.
        faults: The fault of each exchange, in order; exchanges after the last one have none.

    Attributes:
        committed: The faults so far, without `Fault.NONE`.

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
        """Sends a request and returns its reply, unless a fault intervenes (see `Transport.exchange`).

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
        """Sends a request; `receive` reports its reply or fault (see `Transport.send`)."""
        self._received = partial(self.exchange, request, timeout, header)

    def receive(self) -> Reply:
        """Returns the reply to the last `send` (see `Transport.receive`)."""
        return self._received()

    def fileno(self) -> int:
        """Returns -1, since there is no descriptor to poll: call `receive`."""
        return -1

    def keep_alive(self, request: bytes, header: bytes = b"") -> None:
        """Renews a lease without faults (see `Transport.keep_alive`)."""
        self._transport.keep_alive(request, header)

    def close(self) -> None:
        """Closes the wrapped transport."""
        self._transport.close()


def _broken(fault: Fault) -> ServerUnavailableError:
    failure = ServerUnavailableError(f"on purpose, {fault.value}")
    failure.connected = True
    return failure
