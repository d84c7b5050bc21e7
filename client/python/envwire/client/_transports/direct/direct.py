"""The direct transport: makes a session over gRPC, then sends its requests to the session process over a plain socket.

If no direct channel can be opened, for instance because of a firewall, requests go over a gRPC stream.
"""

from __future__ import annotations

import errno
from collections.abc import Callable
from typing import TYPE_CHECKING

from envwire.client._errors import broken, timed_out, too_large
from envwire.client._transports.direct.dialing import Dialer
from envwire.client._transports.direct.direct_channel import Channel
from envwire.client._transports.targets import known_port, learn_port
from envwire.client._transports.transport import ARRIVED, Transport
from envwire.client.credentials import Credentials
from envwire.v1 import environment_pb2 as pb
from envwire.wire.envelope import REQUESTS, RESPONSES, STEP_REQUEST
from envwire.wire.frames import Area, Reply

if TYPE_CHECKING:
    from envwire.client._session.client_device import ClientDevice

#: Requests that the front answers itself.
_CONTROL = frozenset(
    ("list_environments", "make", "renew_lease", "get_server_info", "get_session_stats")
)


class DirectTransport(Transport):
    """The direct channel of one session, which the session's Make opens.

    Args:
        target: HOST:PORT, or any gRPC name.
        kind: Name of this transport: "direct", or "direct-unix" and "direct-tcp", which never fall back to a stream.
        open_grpc: Opens a gRPC transport by name, with an address and credentials for it.
        credentials: Certificates and token.

    Attributes:
        stream: The stream in use if no channel could be opened.
    """

    def __init__(
        self,
        target: str,
        kind: str,
        open_grpc: Callable[[str, tuple[str, Credentials]], Transport],
        credentials: Credentials,
    ) -> None:
        self._open_grpc = open_grpc
        self._dialer = Dialer(target, kind, credentials)
        self._front = target, credentials
        #: Opened here, so that a server that cannot be reached is told at once; later if a port of it is known.
        self._control: Transport | None = None
        if known_port(target) is None or not self._dialer.makes:
            self._control = open_grpc("unary", self._front)
        self.stream: Transport | None = None
        self._channel: Channel | None = None
        #: A reply that did not arrive over the channel: the front's, or the refusal to reopen the channel.
        self._early: Reply | None = None
        self._timeout = 0.0

    def exchange(self, request: bytes, timeout: float, header: bytes = b"") -> Reply:
        """Sends a request and returns its reply (see `Transport.exchange`)."""
        channel = self._channel
        if (
            channel is None
            or request[0] != STEP_REQUEST
            or len(request) > channel.max_request_bytes
        ):
            self.send(request, timeout, header)
            return self.receive()
        try:
            channel.send(request, timeout)
            return channel.receive()
        except BaseException as error:
            raise self.given_up(error, timeout) from None

    def send(self, request: bytes, timeout: float, header: bytes = b"") -> None:
        """Sends a request (see `Transport.send`)."""
        self._timeout = timeout
        if request[0] != STEP_REQUEST and REQUESTS.kind(request) in _CONTROL:
            self._early = self._ask_front(request, timeout, header)
        elif self.stream is not None:
            self.stream.send(request, timeout, header)
        elif (channel := self._channel or self._dial()) is not None:
            most = channel.max_request_bytes
            if len(request) > most:
                what = f"{len(request)} bytes, and {most} are accepted"
                raise too_large(self._dialer.server, what)
            try:
                channel.send(request, timeout)
            except BaseException as error:
                raise self.given_up(error, timeout) from None
        elif self._early is None:
            self.stream = self._open_grpc("stream", self._front)
            self.stream.send(request, timeout, header)

    def plain_channel(self, request: bytes) -> Channel | None:
        """Returns the open channel for a request, for an event loop to use; None if a thread has to send it."""
        channel = self._channel
        if type(channel) is not Channel or self._early is not None:
            return None
        if request[0] != STEP_REQUEST and REQUESTS.kind(request) in _CONTROL:
            return None
        return channel if len(request) <= channel.max_request_bytes else None

    @property
    def pipelines(self) -> bool:
        """Whether the open connection carries several requests at a time (see `Transport.pipelines`)."""
        if self._early is not None:
            return False
        return self._channel is not None or (self.stream is not None and self.stream.pipelines)

    def send_ahead(self, request: bytes, timeout: float, header: bytes = b"") -> None:
        """Sends a request without waiting for earlier replies (see `Transport.send_ahead`)."""
        if self.stream is not None:
            self.stream.send_ahead(request, timeout, header)
            return
        channel = self._open_channel()
        if len(request) > channel.max_request_bytes:
            what = f"{len(request)} bytes, and {channel.max_request_bytes} are accepted"
            raise too_large(self._dialer.server, what)
        try:
            channel.send_ahead(request, timeout)
        except BaseException as error:
            raise self.given_up(error, timeout) from None

    def receive_ahead(self, timeout: float) -> Reply:
        """Waits for the reply to the oldest request (see `Transport.receive_ahead`)."""
        if self.stream is not None:
            return self.stream.receive_ahead(timeout)
        channel = self._open_channel()
        try:
            return channel.receive_ahead(timeout)
        except BaseException as error:
            raise self.given_up(error, timeout) from None

    def _open_channel(self) -> Channel:
        if self._channel is None:
            raise broken(f"the direct channel to {self._dialer.server} was closed")
        return self._channel

    @property
    def address(self) -> str:
        """The address of the open channel; empty if there is none."""
        return self._dialer.address if self._channel is not None else ""

    @property
    def device(self) -> ClientDevice | None:
        """The device whose memory is to be shared with the session, and why it is not; None without one."""
        return self._dialer.device

    @property
    def why_not(self) -> str:
        """Why there is no direct channel; empty if no attempt to open one has failed."""
        return self._dialer.why_not

    def receive(self) -> Reply:
        """Waits for the reply (see `Transport.receive`)."""
        early, self._early = self._early, None
        if early is not None:
            return early
        if self._channel is None:
            assert self.stream is not None  # noqa: S101 - `send` chose it
            return self.stream.receive()
        try:
            return self._channel.receive()
        except BaseException as error:
            raise self.given_up(error, self._timeout) from None

    def given_up(self, error: BaseException, timeout: float) -> BaseException:
        """Closes the channel, so that a late reply cannot be taken for the next one; returns the exception to raise."""
        self._close_channel()
        # With ETIMEDOUT the kernel reports that the peer is gone; the request's own timeout has not passed.
        peer_gone = isinstance(error, OSError) and error.errno == errno.ETIMEDOUT
        if isinstance(error, (BlockingIOError, TimeoutError)) and not peer_gone:
            return timed_out(self._dialer.server, timeout)
        if isinstance(error, OSError):
            return broken(f"the direct channel to {self._dialer.server} broke: {error}")
        return error

    def _close_channel(self) -> None:
        if self._channel is not None:
            self._channel.close()
            self._channel = None

    def _ask_front(self, request: bytes, timeout: float, header: bytes) -> Reply:
        """Sends a request that the front answers; after a Make, opens the channel to the new session."""
        kind, content = REQUESTS.unwrap(request)
        if kind == "make" and (made := self._make(content, timeout)):
            return made
        if self._control is None:
            self._control = self._open_grpc("unary", self._front)
        reply = self._control.exchange(request, timeout, header)
        if RESPONSES.kind(reply.message) == "make":
            answer = pb.InteractResponse.FromString(reply.message).make
            asked, control = self._front[0], self._control
            front = control.front
            self._front = front or self._front
            self._dialer.use(answer)
            if self._dial() is not None:
                if front is not None and front[0] == asked:
                    learn_port(asked, self.address, answer, control.abilities)
                self._close_control()
        return reply

    def _make(self, content: bytes, timeout: float) -> Reply | None:
        """Makes a session on the direct port, if that is known; else returns None."""
        found = self._dialer.make(content, timeout)
        if found is None or isinstance(found, Reply):
            return found
        self._channel, made = found
        return Reply(RESPONSES.wrap("make", made.SerializeToString()))

    def _dial(self) -> Channel | None:
        """Opens the channel and returns it, if possible; a refusal becomes the reply to the request.

        Raises:
            ServerUnavailableError: No address answers, and this transport does not fall back to a stream.
        """
        found = self._dialer.dial()
        if isinstance(found, Reply):
            self._early = found
            return None
        self._channel = found
        return found

    def fileno(self) -> int:
        """Returns the channel's descriptor, or `ARRIVED`; -1 if the reply comes over gRPC."""
        channel = self._channel
        if self._early is not None or (channel is not None and channel.sleep()):
            return ARRIVED
        return -1 if channel is None else channel.fileno()

    def set_buffer(self, buffer: Area) -> None:
        """Offers a buffer for the attachments of the next reply (see `Transport.set_buffer`)."""
        if self._channel is not None:
            self._channel.buffer = buffer

    def share(self, device: ClientDevice) -> None:
        """Has the next channel share memory of a device (see `Transport.share`)."""
        self._dialer.device = device

    def watch_path(self, seconds: float) -> None:
        """Has the next channel over TCP notice a dead path sooner (see `Transport.watch_path`)."""
        self._dialer.liveness = seconds

    def compress(self, when: str) -> None:
        """Says when the server of the next channel may compress arrays (see `Transport.compress`)."""
        self._dialer.compression = when

    def keep_alive(self, request: bytes, header: bytes = b"") -> None:
        """Does nothing: the open channel or stream keeps the session alive."""

    def probe(self, timeout: float) -> bool:
        """Returns whether the server's front answers (see `Transport.probe`)."""
        from envwire.client._transports.grpc.grpc_connection import probe

        return probe(*self._front, timeout)

    def interrupt(self) -> None:
        """Breaks every open connection, and one that is being opened (see `Transport.interrupt`)."""
        self._dialer.interrupt()
        if (channel := self._channel) is not None:
            channel.shut_down()
        for grpc in (self._control, self.stream):
            if grpc is not None:
                grpc.interrupt()

    def _close_control(self) -> None:
        if self._control is not None:
            self._control.close()
            self._control = None

    def close(self) -> None:
        """Closes the channel and the gRPC connections."""
        if self._dialer.device is not None:
            self._dialer.device.leave()
        self._close_channel()
        self._close_control()
        if self.stream is not None:
            self.stream.close()
