"""The direct transport: makes over gRPC, then talks to the session process over a plain socket.

Where no direct channel comes about, because a firewall is in between for instance, everything goes over a gRPC stream.
"""

from __future__ import annotations

import errno
import logging
from collections.abc import Callable, Iterable

from envwire.client._transports.direct.connecting import UNIX, connect
from envwire.client._transports.direct.direct_channel import Channel
from envwire.client._transports.portability import ABSTRACT_NAMES
from envwire.client._transports.targets import addresses, is_local
from envwire.client._transports.transport import Fronted, Probeable, Transport
from envwire.client.credentials import Credentials
from envwire.client.errors import ServerUnavailableError, refused, timed_out, too_large
from envwire.v1 import direct_pb2
from envwire.v1 import environment_pb2 as pb
from envwire.wire.envelope import REQUESTS, RESPONSES, STEP_REQUEST
from envwire.wire.frames import Area, Reply

_log = logging.getLogger("envwire.client")

#: The requests that the front answers itself.
_CONTROL = frozenset(
    ("list_environments", "make", "renew_lease", "get_server_info", "get_session_stats")
)
#: A firewall that drops packets shall not cost a client long; a server that is there answers in milliseconds.
_DIAL_SECONDS = 3.0
#: Whether Unix sockets are used, by the name of the transport.
KINDS = {"direct": (True, False), "direct-unix": (True,), "direct-tcp": (False,)}


def _for_front(request: bytes) -> bool:
    return request[0] != STEP_REQUEST and REQUESTS.kind(request) in _CONTROL


class _BusyError(OSError):
    """It was let in, and is not welcomed yet: the process that holds the session is at work."""


class DirectTransport:
    """A direct channel, opened by the Make that goes through it. It serves one session.

    Args:
        target: HOST:PORT, or any gRPC name.
        kind: Name of this transport: "direct", or "direct-unix" and "direct-tcp", which never fall back.
        open_grpc: Opens a gRPC transport by name, to where a session was made if there is one.
        credentials: Certificates and token.
    """

    def __init__(
        self,
        target: str,
        kind: str,
        open_grpc: Callable[[str, pb.MakeResponse | None], Transport],
        credentials: Credentials,
    ) -> None:
        self._target = target
        self._kind = kind
        self._open_grpc = open_grpc
        self._credentials = credentials
        self._context = credentials.ssl_context()
        self._authority = credentials.override_authority
        self._control: Transport | None = open_grpc("unary", None)
        self._front = target, credentials
        self._made: pb.MakeResponse | None = None
        self._stream: Transport | None = None
        self._channel: Channel | None = None
        self._was_open = False
        self._limit = 0
        self._hello = b""
        self._addresses: list[str] = []
        self._early: Reply | None = None
        self._timeout = 0.0
        #: Why there is no direct channel; empty while nothing failed.
        self.why_not = ""

    def exchange(self, request: bytes, timeout: float, header: bytes = b"") -> Reply:
        """Sends a request and returns its reply (see `Transport.exchange`)."""
        channel = self._channel
        if channel is None or len(request) > self._limit or _for_front(request):
            self.send(request, timeout, header)
            return self.receive()
        self._timeout = timeout
        try:
            channel.send(request, timeout)
            return channel.receive()
        except BaseException as error:
            raise self.given_up(error, self._timeout) from None

    def send(self, request: bytes, timeout: float, header: bytes = b"") -> None:
        """Sends a request (see `Transport.send`)."""
        self._timeout = timeout
        if _for_front(request):
            self._early = self._ask_front(request, timeout, header)
        elif self._stream is not None:
            self._stream.send(request, timeout, header)
        elif self._channel is not None or self._dial():
            self._write(request, timeout)
        elif self._early is None:
            self._stream = self._open_grpc("stream", self._made)
            self._stream.send(request, timeout, header)

    def plain_channel(self, request: bytes) -> Channel | None:
        """Returns the open channel that a request goes over, for an event loop; None where a thread has to help."""
        channel = self._channel
        if channel is None or type(channel) is not Channel or self._early is not None:
            return None
        if _for_front(request) or len(request) > self._limit:
            return None
        return channel

    @property
    def address(self) -> str:
        """Where the open channel leads; empty where there is none."""
        return self._addresses[0] if self._channel is not None else ""

    @property
    def stream(self) -> Transport | None:
        """The stream that is used where no channel came about."""
        return self._stream

    def _write(self, request: bytes, timeout: float) -> None:
        channel = self._channel
        assert channel is not None  # noqa: S101 - the caller opened it
        if len(request) > self._limit:
            raise too_large(self._target, f"{len(request)} bytes, and {self._limit} are accepted")
        try:
            channel.send(request, timeout)
        except BaseException as error:
            raise self.given_up(error, self._timeout) from None

    def receive(self) -> Reply:
        """Waits for the reply (see `Transport.receive`)."""
        early, self._early = self._early, None
        if early is not None:
            return early
        if self._channel is None:
            assert self._stream is not None  # noqa: S101 - `send` chose it
            return self._stream.receive()
        try:
            return self._channel.receive()
        except BaseException as error:
            raise self.given_up(error, self._timeout) from None

    def given_up(self, error: BaseException, timeout: float) -> BaseException:
        """Ends the channel, whose next reply belongs to nobody, and returns what to raise."""
        self._hang_up()
        died = (
            isinstance(error, OSError) and error.errno == errno.ETIMEDOUT
        )  # the kernel gave it up
        if isinstance(error, (BlockingIOError, TimeoutError)) and not died:
            return timed_out(self._target, timeout)
        if isinstance(error, OSError):
            broken = ServerUnavailableError(f"the direct channel to {self._target} broke: {error}")
            broken.connected = True
            return broken
        return error

    def _hang_up(self) -> None:
        if self._channel is not None:
            self._channel.close()
            self._channel = None

    def _ask_front(self, request: bytes, timeout: float, header: bytes) -> Reply:
        """Asks what is not a session's to answer; opens the channel to a session that was made."""
        if self._control is None:
            self._control = self._open_grpc("unary", self._made)
        reply = self._control.exchange(request, timeout, header)
        if RESPONSES.kind(reply.message) == "make":
            if isinstance(self._control, Fronted):
                self._front = self._control.front
            self._introduce(pb.InteractResponse.FromString(reply.message).make)
        return reply

    def _introduce(self, made: pb.MakeResponse) -> None:
        self._made = made
        owner = pb.SessionHeader(session_id=made.session_id, secret=made.secret)
        hello = direct_pb2.HelloRequest(header=owner, shared_memory=True)
        self._hello = hello.SerializeToString()
        self._addresses = list(self._usable(made.direct.addresses, made.address))
        if self._dial():
            self._close_control()

    def _usable(self, offered: Iterable[str], advertised: str) -> Iterable[str]:
        """Yields the addresses that are ours to try: a name of this machine's only where the server is on it."""
        for address in offered:
            unix = address.startswith(UNIX)
            if unix not in KINDS[self._kind]:
                continue
            if not unix:
                host, _, port = address.rpartition(":")
                if not port.isdecimal():
                    continue  # a form of a later version
                known = next(iter(addresses(advertised or self._target)), ("", 0))[0]
                yield f"{host.strip('[]') or known}:{port}"
            elif ABSTRACT_NAMES and is_local(self._target):
                yield address

    def _dial(self) -> bool:
        """Opens the channel at the first address that answers; a refusal becomes the reply to come.

        Raises:
            ServerUnavailableError: No address answers, and this transport falls back to nothing.
        """
        failures: list[str] = []
        connected = False
        nobody = bool(self._addresses)
        for address in self._addresses:
            try:
                channel, response = self._greet(address)
            except OSError as error:
                failures.append(f"{address}: {error}")
                connected = connected or isinstance(error, _BusyError)
                nobody = nobody and isinstance(error, ConnectionRefusedError)
                continue
            self._addresses = [address]
            return self._settle(channel, response)
        why = self.why_not = "; ".join(failures) or self._none_usable()
        _log.debug("no direct channel to %s (%s)", self._target, why)
        if self._was_open or self._kind != "direct":
            unavailable = ServerUnavailableError(f"no direct channel to {self._target}: {why}")
            if nobody and self._was_open:
                unavailable = refused(self._target)
            unavailable.connected, unavailable.refused = connected, nobody
            raise unavailable
        return False

    def _none_usable(self) -> str:
        if KINDS[self._kind] == (True,) and not ABSTRACT_NAMES:
            return f"the Unix sockets of {self._kind!r} exist on Linux only"
        return "none offered"

    def _greet(self, address: str) -> tuple[Channel, direct_pb2.HelloResponse]:
        """Opens a channel and returns it and the answer to its hello.

        Raises:
            OSError: There is no such server, or another one: a new session is known where it was made. A forwarded port
                leads anywhere.
        """
        channel = connect(address, _DIAL_SECONDS, self._context, self._authority)
        try:
            response = channel.greet(self._hello, _DIAL_SECONDS)
            if response.HasField("error") and not self._was_open:
                raise ConnectionAbortedError(response.error.message)
        except BaseException as error:
            channel.close()
            if isinstance(error, (BlockingIOError, TimeoutError)):
                raise _BusyError(f"no welcome within {_DIAL_SECONDS:g} s") from error
            raise
        return channel, response

    def _settle(self, channel: Channel, response: direct_pb2.HelloResponse) -> bool:
        if response.HasField("error"):
            channel.close()
            self._early = Reply(RESPONSES.wrap("error", response.error.SerializeToString()))
            return False
        self._channel = channel
        self._limit = response.welcome.max_message_bytes
        self._was_open = True
        return True

    def fileno(self) -> int:
        """Returns the channel's descriptor; -1 when a reply is here already or comes over gRPC."""
        return -1 if self._channel is None or self._early is not None else self._channel.fileno()

    def offer(self, buffer: Area) -> None:
        """Says where the attachments of the next reply shall go if they are just as long."""
        if self._channel is not None:
            self._channel.buffer = buffer

    def keep_alive(self, request: bytes, header: bytes = b"") -> None:
        """Does nothing while a channel or stream is open, which keeps the session."""

    def probe(self, timeout: float) -> bool:
        """Returns whether the server's front answers anything (see `Probeable.probe`)."""
        from envwire.client._transports.grpc.grpc_connection import probe

        return probe(*self._front, timeout)

    def interrupt(self) -> None:
        """Breaks whatever connection waits (see `Probeable.interrupt`)."""
        if (channel := self._channel) is not None:
            channel.shut_down()
        for grpc in (self._control, self._stream):
            if isinstance(grpc, Probeable):
                grpc.interrupt()

    def _close_control(self) -> None:
        if self._control is not None:
            self._control.close()
            self._control = None

    def close(self) -> None:
        """Ends the channel and whatever of gRPC is open."""
        self._hang_up()
        self._close_control()
        if self._stream is not None:
            self._stream.close()
