"""Opens the direct channel of a session, at the first of the server's addresses that answers.

An address is a Unix socket, or a TCP port, with TLS if the client uses it.
"""

from __future__ import annotations

import contextlib
import logging
import socket
import time
from collections.abc import Iterable
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING

from envwire.client._errors import ENDS, refused, unavailable
from envwire.client._transports.direct.direct_channel import Channel, TimedChannel, open_channels
from envwire.client._transports.direct.encodings import offer_encodings
from envwire.client._transports.portability import (
    ABSTRACT_NAMES,
    KERNEL_TIMES,
    LIVENESS_SECONDS,
    liveness_options,
)
from envwire.client._transports.resolving import resolve
from envwire.client._transports.targets import (
    RELAYED,
    KnownPort,
    addresses,
    forget_port,
    is_local,
    known_port,
)
from envwire.client.credentials import Credentials
from envwire.client.errors import ServerUnavailableError
from envwire.codec import Reason
from envwire.codec.errors.statuses import reason_of
from envwire.device.device_memory import DeviceError
from envwire.v1 import direct_pb2
from envwire.v1 import environment_pb2 as pb
from envwire.wire.envelope import RESPONSES
from envwire.wire.frames import Reply
from envwire.wire.local_channel import ORDERED

if TYPE_CHECKING:
    import ssl

    from envwire.client._session.client_device import ClientDevice

_log = logging.getLogger("envwire.client")

#: Prefix of the addresses of Unix sockets.
_UNIX = "unix-abstract:"
#: Bounds the delay that a firewall which drops packets costs; a server that listens answers within milliseconds.
_DIAL_SECONDS = 3.0
#: Bounds all attempts together: a server may offer any number of addresses where nobody answers.
_ALL_SECONDS = 6.0
_MOST_ADDRESSES = 8
#: The same where a session may have to start its GPU's driver first, which takes seconds.
_DEVICE_SECONDS = 30.0
#: A program with this many channels opens further ones without mailboxes: its waits are long, so nothing spins, and
#: each mailbox would hold one more descriptor.
_MOST_MAILBOXES = 64
#: For each transport name, whether Unix sockets (True) and TCP ports (False) are tried.
KINDS = {"direct": (True, False), "direct-unix": (True,), "direct-tcp": (False,)}
#: The reasons that only the session's own server gives. Any server may know no session of that id.
_ENDED = ENDS - {Reason.UNKNOWN_SESSION.value}


class _BusyError(OSError):
    """The connection was accepted, but the session process has not answered the hello: it is serving a request."""


def _context(credentials: Credentials) -> ssl.SSLContext | None:
    """Returns the context for connections with these credentials: the same as before, if their files are."""
    if not credentials.secure:
        return None
    return _shared_context(*(credentials.pem(name) for name in ("ca", "cert", "key")))


@lru_cache(maxsize=8)
def _shared_context(
    ca: bytes | None, cert: bytes | None, key: bytes | None
) -> ssl.SSLContext | None:
    """Reads certificates, which takes milliseconds: a program makes many sessions. Nobody may change the result."""
    return Credentials(ca=ca, cert=cert, key=key, token=None, tls=True).ssl_context()


class Dialer:
    """Opens the direct channel of one session, and reopens it after it broke.

    Args:
        target: HOST:PORT of the server, or any gRPC name.
        kind: Name of the transport, a key of `KINDS`. "direct" may fall back to a stream; the others may not.
        credentials: Certificates.

    Attributes:
        server: HOST:PORT of the session's server: a gateway that was asked for it is none. For messages.
        why_not: Why no channel could be opened; empty if no attempt has failed.
        device: A device whose memory is to be shared with the session; None for none.
        liveness: Seconds after which a TCP connection without a sign of life fails.
        compression: Whether the server may compress arrays, one of `envwire.client.options.COMPRESSIONS`.

    Raises:
        TlsError: The certificates cannot be used.
    """

    def __init__(self, target: str, kind: str, credentials: Credentials) -> None:
        self.why_not = ""
        self.device: ClientDevice | None = None
        self.liveness = LIVENESS_SECONDS
        self.compression = "auto"
        self.server = self._target = target
        self._kind = kind
        self._context = _context(credentials)
        self._authority = credentials.override_authority
        self._token = credentials.token or ""
        self._hello = direct_pb2.HelloRequest()
        self._addresses: list[str] = []
        self._was_open = self._relayed = False
        #: The socket that is being connected, or was last.
        self._attempt: socket.socket | None = None

    @property
    def address(self) -> str:
        """The address that is tried first; once a channel was open, the only one."""
        return next(iter(self._addresses), "")

    def use(self, made: pb.MakeResponse) -> None:
        """Sets the addresses and the secret of a new session."""
        owner = pb.SessionHeader(session_id=made.session_id, secret=made.secret)
        mailbox = ORDERED and open_channels() < _MOST_MAILBOXES
        self._hello = direct_pb2.HelloRequest(header=owner, shared_memory=True, mailbox=mailbox)
        self._relayed = RELAYED in made.capabilities
        self.server = made.address or self._target
        self._addresses = list(islice(self._usable(made.direct.addresses), _MOST_ADDRESSES))

    def _usable(self, offered: Iterable[str]) -> Iterable[str]:
        """Yields the addresses to try: Unix sockets only if the server is on this machine."""
        for address in offered:
            unix = address.startswith(_UNIX)
            if unix not in KINDS[self._kind]:
                continue
            if not unix:
                host, _, port = address.rpartition(":")
                if not port.isdecimal():
                    continue  # an address form of a later version
                known = next(iter(addresses(self.server)), ("", 0))[0]
                yield f"{host.strip('[]') or known}:{port}"
            elif ABSTRACT_NAMES and is_local(self._target):
                yield address

    def dial(self) -> Channel | Reply | None:
        """Opens the channel at the first address that answers.

        Returns:
            The channel; or the error with which the server refused to open it, as the reply to the request that needs
            it; or None if no address answers and a stream may be used instead.

        Raises:
            ServerUnavailableError: No address answers, and no stream may be used instead.
        """
        failures: list[str] = []
        kinds: set[type[OSError]] = set()
        end = time.monotonic() + _ALL_SECONDS
        for address in self._addresses:
            if (now := time.monotonic()) >= end:
                failures.append(f"no time for {len(self._addresses) - len(failures)} more")
                break
            try:
                found = self._greet_again_once(address, min(now + _DIAL_SECONDS, end))
            except OSError as error:
                failures.append(f"{address}: {error}")
                kinds.add(type(error))
                continue
            self._addresses = [address]
            self._was_open = self._was_open or isinstance(found, Channel)
            return found
        self.why_not = "; ".join(failures) or self._none_usable()
        _log.debug("no direct channel to %s (%s)", self.server, self.why_not)
        # A gateway that was restarted may have another direct port.
        if (self._was_open and not self._relayed) or self._kind != "direct":
            raise self._unavailable(kinds)
        return None

    @property
    def makes(self) -> bool:
        """Whether sessions are made on a direct port that is known: not on this machine, where no way is long."""
        return False in KINDS[self._kind] and self.device is None and not is_local(self._target)

    def make(
        self, request: bytes, timeout: float
    ) -> tuple[Channel, pb.MakeResponse] | Reply | None:
        """Makes a session on the direct port of its server.

        Args:
            request: A MakeRequest.
            timeout: Seconds to wait for the answer.

        Returns:
            The channel to the session, and the answer to its Make; or the server's refusal; or None if no port is
            known, or the server is not there any more: the same Make can be sent over gRPC, which joins this one.
        """
        port = known_port(self._target) if self.makes else None
        if port is None:
            return None
        try:
            return self._make_at(port, request, timeout)
        except OSError as error:
            _log.debug("no Make at the direct port of %s: %s", self._target, error)
            forget_port(self._target)
            return None

    def _make_at(
        self, port: KnownPort, request: bytes, timeout: float
    ) -> tuple[Channel, pb.MakeResponse] | Reply:
        (address,) = self._usable([port.address])
        channel = self._connect(address, time.monotonic() + _DIAL_SECONDS)
        try:
            hello = direct_pb2.HelloRequest(make=direct_pb2.MakeHello(token=self._token))
            offer_encodings(hello, self.compression, channel.connection)
            answer, welcome = channel.make(hello.SerializeToString(), request, timeout)
            if answer.HasField("error"):
                if (
                    reason_of(answer.error) is Reason.MALFORMED_REQUEST
                ):  # or longer than is allowed here
                    raise ConnectionAbortedError(answer.error.message)
                channel.close()
                return Reply(RESPONSES.wrap("error", answer.error.SerializeToString()))
            if port.incarnation not in {"", answer.made.incarnation}:
                _end(channel, timeout)
                raise ConnectionAbortedError("another server is there by now")
            if not welcome.HasField("welcome"):
                raise ConnectionAbortedError(welcome.error.message)
        except BaseException:
            channel.close()
            raise
        self.use(answer.made)
        self._addresses, self._was_open = [address], True
        return channel, answer.made

    def _greet_again_once(self, address: str, end: float) -> Channel | Reply:
        """Greets as `_greet` does, and again if the session process hangs up where no stream can ask why.

        It has died since the session was made, which is the answer to the second greeting.
        """
        try:
            return self._greet(address, end)
        except DeviceError:  # the next hello does not name the device
            return self._greet(address, end)
        except (ConnectionResetError, BrokenPipeError):
            if self._was_open or self._kind == "direct":
                raise
            return self._greet(address, end)

    def _greet(self, address: str, end: float) -> Channel | Reply:
        """Opens a channel at an address; returns it, or the error with which the server refused to open it.

        Raises:
            OSError: Nothing answers there, or a server that did not make the session: a forwarded port may lead
                anywhere. The session's own server refuses its first channel only if the session has ended.
        """
        hello = direct_pb2.HelloRequest()
        hello.CopyFrom(self._hello)
        channel = self._connect(address, end)
        began = time.monotonic()
        if self.device is not None:
            self.device.greet(hello)
            channel.device = self.device
        offer_encodings(hello, self.compression, channel.connection)
        try:
            seconds = _left(end) if self.device is None else _DEVICE_SECONDS
            response = channel.greet(hello.SerializeToString(), seconds)
            if not response.HasField("error"):
                return channel
            if not self._was_open and reason_of(response.error).value not in _ENDED:
                raise ConnectionAbortedError(response.error.message)
        except BaseException as error:
            channel.close()
            if isinstance(error, (BlockingIOError, TimeoutError)):
                raise _BusyError(f"no welcome in {time.monotonic() - began:.1f} s") from error
            raise
        channel.close()
        return Reply(RESPONSES.wrap("error", response.error.SerializeToString()))

    def _connect(self, address: str, end: float) -> Channel:
        if address.startswith(_UNIX):
            return Channel(self._connect_unix(address.removeprefix(_UNIX)))
        connection = self._connect_tcp(address, end)
        timed = self._context is not None or not KERNEL_TIMES
        return TimedChannel(connection) if timed else Channel(connection)

    def _connect_unix(self, name: str) -> socket.socket:
        connection = self._attempt = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            connection.connect(f"\0{name}")
        except BaseException:
            connection.close()
            raise
        return connection

    def _connect_tcp(self, address: str, end: float) -> socket.socket:
        """Connects to the first address of a host that answers, as `socket.create_connection` does.

        The socket is wrapped in TLS before it connects: on a connection that has just been reset, `wrap_socket` fails
        and leaks the socket.
        """
        host, _, port = address.rpartition(":")
        name = self._authority or host
        failure = OSError(f"{host} has no address")
        for family, kind, protocol, _, at in resolve(host, int(port), _left(end)):
            connection = socket.socket(family, kind, protocol)
            try:
                if self._context is not None:
                    connection = self._context.wrap_socket(connection, server_hostname=name)
                connection.settimeout(_left(end))
                self._attempt = connection
                connection.connect(at)
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
                for option, value in liveness_options(self.liveness):
                    connection.setsockopt(socket.IPPROTO_TCP, option, value)
            except OSError as error:
                connection.close()
                failure = error
            else:
                return connection
        raise failure

    def interrupt(self) -> None:
        """Ends the wait of a `dial` in another thread for an address that does not answer."""
        if (attempt := self._attempt) is not None:
            with contextlib.suppress(OSError):
                attempt.shutdown(socket.SHUT_RDWR)

    def _none_usable(self) -> str:
        if KINDS[self._kind] == (True,) and not ABSTRACT_NAMES:
            return f"the Unix sockets of {self._kind!r} exist on Linux only"
        return "none offered"

    def _unavailable(self, kinds: set[type[OSError]]) -> ServerUnavailableError:
        """Returns the exception to raise after failures of these kinds."""
        all_refused = kinds == {ConnectionRefusedError}
        if all_refused and self._was_open:
            return refused(self.server)
        text = f"no direct channel to {self.server}: {self.why_not}"
        return unavailable(text, connected=_BusyError in kinds, refused=all_refused)


def _end(channel: Channel, timeout: float) -> None:
    """Ends a session that is on another server than the one that was meant."""
    close = pb.InteractRequest(close=pb.CloseRequest(sequence=1))
    channel.send(close.SerializeToString(), timeout)
    channel.receive()


def _left(end: float) -> float:
    """Returns the seconds until a time; never 0, which would stand for no wait or for no limit."""
    return max(0.001, end - time.monotonic())
