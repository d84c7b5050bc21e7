"""A client's Interact stream through the gateway: one stream to each server that has a session of the client.

A session's lease does not run while a stream that used it is open, so the gateway keeps one open to each server.
"""

from __future__ import annotations

from typing import Any

import grpc.aio

from envwire.farm.gateway.registry.states import Member
from envwire.farm.gateway.relaying.channels import ChannelRelay
from envwire.farm.gateway.relaying.links import (
    SECRET,
    Link,
    Metadata,
    RefusedError,
    ServerGoneError,
)
from envwire.farm.gateway.relaying.routing import Routes
from envwire.v1 import environment_pb2 as pb


class Upstreams:
    """The streams to servers behind a client's stream, which has one request in flight at a time.

    Args:
        routes: The connections to the servers.
        channels: Direct channels through the gateway.
        metadata: Metadata about the client for the servers.
        reservation: Id of the slot that a server reserves for a Make.

    Attributes:
        reservation: The same.
    """

    def __init__(
        self, routes: Routes, channels: ChannelRelay, metadata: Metadata, reservation: bytes
    ) -> None:
        self._routes = routes
        self._channels = channels
        self._metadata = metadata
        self.reservation = reservation
        self._streams: dict[str, Any] = {}

    async def ask(self, member: Member, request: bytes) -> bytes:
        """Sends a request and returns its reply.

        Raises:
            ServerGoneError: The server did not reply.
        """
        link = self._routes.link(member)
        stream = self._streams.get(member.incarnation)
        if stream is None:
            stream = self._streams[member.incarnation] = link.open_stream(self._metadata)
        try:
            return await link.unless_gone(_exchange(stream, request, link), stream.cancel)
        except BaseException:
            # The reply to an abandoned request must not be mistaken for the reply to the next one.
            stream.cancel()
            del self._streams[member.incarnation]
            raise

    async def make(self, request: bytes, member: Member) -> bytes:
        """Sends a Make and returns its reply, redirected.

        Raises:
            RefusedError: The server refused the Make.
            ServerGoneError: The server did not reply.
        """
        answer = self._routes.link(member).while_answering(self.ask(member, request))
        reply = pb.InteractResponse.FromString(await answer)
        if reply.HasField("error"):
            raise RefusedError(reply.error)
        redirect(reply.make, member, address_for(member, self._metadata), self._channels)
        return reply.SerializeToString()

    def end(self) -> None:
        """Ends the streams, so that the sessions' leases begin to run."""
        for stream in self._streams.values():
            stream.cancel()
        self._streams.clear()


def address_for(member: Member, metadata: Metadata) -> str:
    """Returns where the client of a new session goes on: at its server; empty for here, at the gateway.

    It stays here if it cannot reach the server, or would show its token to one that gets none.
    """
    keeps_token = not member.proven and any(name in SECRET for name, _ in metadata)
    return "" if keeps_token else member.client_address


def redirect(made: pb.MakeResponse, member: Member, address: str, channels: ChannelRelay) -> None:
    """Sets where the client of a new session goes on (see `address_for`)."""
    made.address = address
    if address:
        return
    made.capabilities.append("relayed")
    offered = made.HasField("direct") and channels.offers(member)
    made.ClearField("direct")
    if offered:
        made.direct.addresses.append(f":{channels.port}")


async def _exchange(stream: Any, request: bytes, link: Link) -> bytes:
    await stream.write(request)
    reply = await stream.read()
    if reply is grpc.aio.EOF:
        raise ServerGoneError(f"{link.address} ended the stream")
    return bytes(reply)
