"""The server behind a proxy, reached by raw gRPC."""

from __future__ import annotations

import threading

from envwire.conformance.proxy.behaviour import Behaviour, Forward, Upstream
from envwire.conformance.raw import Access, Grpc, StreamLink, Trace, UnaryLink
from envwire.v1 import environment_pb2 as pb

#: Seconds that the server behind may take; longer than any of its own limits.
SECONDS = 120.0


class Backend:
    """Forwards requests to the server behind the proxy.

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
        """Closes the connections to the server behind."""
        self._grpc.close()

    def unary(self) -> Upstream:
        """Returns the `Upstream` of a unary call."""
        return Upstream("unary", self._forward(UnaryLink(self._grpc)))

    def held(self, link: str) -> tuple[Upstream, UnaryLink | StreamLink]:
        """Returns the `Upstream` of a stream or direct channel, and the link that keeps its sessions until closed."""
        if not self.behaviour.holds_sessions:
            unary = UnaryLink(self._grpc)
            return Upstream(link, self._forward(unary)), unary
        stream = StreamLink(self._grpc, SECONDS)
        return Upstream(link, self._forward(stream)), stream

    def _forward(self, link: UnaryLink | StreamLink) -> Forward:
        def forward(request: pb.InteractRequest) -> pb.InteractResponse:
            response = link.exchange(request, SECONDS).response
            if response.HasField("make"):
                self._made(response.make)
            return response

        return forward

    def _made(self, made: pb.MakeResponse) -> None:
        """Replaces the server's addresses by the proxy's."""
        made.address = ""
        if made.HasField("direct"):
            del made.direct.addresses[:]
            made.direct.addresses.append(f":{self.direct_port}")
        with self._lock:
            self._secrets[made.session_id] = made.secret

    def secret_of(self, session_id: str) -> bytes:
        """Returns the secret of a session that was made through the proxy; empty for any other."""
        with self._lock:
            return self._secrets.get(session_id, b"")
