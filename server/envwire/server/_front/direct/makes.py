"""Makes on the direct port, for clients without gRPC: the client authenticates first, then sends its Make.

The Make is served by the same service as over gRPC; this module only reads and writes the frames.
"""

from __future__ import annotations

from envwire.server._auth.access import Access, PeerIdentity
from envwire.server._auth.client import Client
from envwire.server._front.sessions.stream import Exchange
from envwire.v1 import direct_pb2
from envwire.wire.envelope import REQUESTS, RESPONSES


class DirectMakes:
    """Serves the Makes on the direct port.

    Args:
        access: Authenticates clients.
        exchange: Serves requests.
        max_bytes: Largest MakeRequest, in bytes.
    """

    def __init__(self, access: Access, exchange: Exchange, max_bytes: int) -> None:
        self._access = access
        self._exchange = exchange
        self.max_bytes = max_bytes

    def identify(self, address: str, certificate: str, hello: direct_pb2.MakeHello) -> Client:
        """Returns the client that sent a hello.

        Raises:
            FaultError: UNAUTHENTICATED.
        """
        authorization = f"Bearer {hello.token}" if hello.token else ""
        return self._access.identify(PeerIdentity(address, certificate, authorization))

    async def make(self, request: bytes, client: Client) -> direct_pb2.HelloResponse:
        """Makes a session.

        Args:
            request: A MakeRequest, not parsed yet.
            client: The client.

        Returns:
            The answer: the session, or the error.
        """
        reply = await self._exchange(REQUESTS.wrap("make", request), None, client)
        kind, content = RESPONSES.unwrap(reply)
        response = direct_pb2.HelloResponse()
        answer = response.made if kind == "make" else response.error
        answer.MergeFromString(content)
        return response
