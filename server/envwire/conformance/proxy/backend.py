"""What is behind a proxy: another server, reached by raw gRPC."""

from __future__ import annotations

import threading

from envwire.conformance.proxy.behaviour import Behaviour, Forward, Via
from envwire.conformance.raw import Access, Grpc, StreamLink, Trace, UnaryLink
from envwire.v1 import environment_pb2 as pb

#: How long the server behind may take; longer than any of its own limits.
SECONDS = 120.0


class Backend:
    """Sends requests on to the server behind.

    Args:
        behind: Its HOST:PORT.
        behaviour: What the proxy does to requests and answers.

    Attributes:
        direct_port: The proxy's direct port.
    """

    def __init__(self, behind: str, behaviour: Behaviour) -> None:
        self.behaviour = behaviour
        self.direct_port = 0
        self._grpc = Grpc(Access(behind), Trace())
        self._lock = threading.Lock()
        self._secrets: dict[str, bytes] = {}

    def close(self) -> None:
        """Lets go of the server behind."""
        self._grpc.close()

    def unary(self) -> Via:
        """Returns the way for a unary call."""
        return Via("unary", self._forward(UnaryLink(self._grpc)))

    def held(self, link: str) -> tuple[Via, UnaryLink | StreamLink]:
        """Returns the way for a stream or a direct channel, and what holds its sessions until it is closed."""
        if not self.behaviour.holds_sessions:
            unary = UnaryLink(self._grpc)
            return Via(link, self._forward(unary)), unary
        stream = StreamLink(self._grpc, SECONDS)
        return Via(link, self._forward(stream)), stream

    def _forward(self, link: UnaryLink | StreamLink) -> Forward:
        def forward(request: pb.InteractRequest) -> pb.InteractResponse:
            response = link.exchange(request, SECONDS).response
            if response.HasField("make"):
                self._made(response.make)
            return response

        return forward

    def _made(self, made: pb.MakeResponse) -> None:
        """Puts the proxy's addresses in place of the server's."""
        made.address = ""
        if made.HasField("direct"):
            del made.direct.addresses[:]
            made.direct.addresses.append(f":{self.direct_port}")
        with self._lock:
            self._secrets[made.session_id] = made.secret

    def secret_of(self, session_id: str) -> bytes:
        """Returns the secret of a session that was made through the proxy; empty for another."""
        with self._lock:
            return self._secrets.get(session_id, b"")
