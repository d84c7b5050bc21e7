"""Direct transports whose connections go through a relay."""

from __future__ import annotations

from envwire.client._transports.by_name import open_transport
from envwire.client._transports.direct.direct import DirectTransport
from envwire.client._transports.transport import Transport
from envwire.client.credentials import Credentials
from envwire.v1 import environment_pb2 as pb
from envwire.wire.frames import Reply
from tests.direct.relay import Relay
from tests.forwarding import Forwarding


class _Detour(Forwarding):
    """A transport that finds the relay's port where the server offers its own."""

    def __init__(self, transport: Transport, relay: Relay) -> None:
        super().__init__(transport)
        self._relay = relay

    def exchange(self, request: bytes, timeout: float, header: bytes = b"") -> Reply:
        # A test that times out soon is about what comes after the Make, which may take its time.
        reply = super().exchange(request, timeout + 30.0, header)
        response = pb.InteractResponse.FromString(reply.message)
        if not response.HasField("make"):
            return reply
        offered = response.make.direct.addresses
        self._relay.upstream = next(int(address[1:]) for address in offered if address[0] == ":")
        offered[:] = [f":{self._relay.port}"]
        return Reply(response.SerializeToString())


def through(relay: Relay, target: str, credentials: Credentials | None = None) -> DirectTransport:
    """Returns a direct transport to a server, through a relay."""
    given = credentials or Credentials()

    def open_grpc(kind: str, _: tuple[str, Credentials]) -> Transport:
        return _Detour(open_transport(kind, target, 10.0, given), relay)

    return DirectTransport(target, "direct-tcp", open_grpc, given)
