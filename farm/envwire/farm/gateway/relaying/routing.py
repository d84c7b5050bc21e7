"""Routes requests to servers by the session id in their header."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from envwire.codec import FaultError, Reason
from envwire.farm.gateway.registry.registry import Registry
from envwire.farm.gateway.registry.states import Liveness, Member
from envwire.farm.gateway.relaying.links import Link, ServerGoneError
from envwire.server._ipc.refusals import SESSION_REQUESTS
from envwire.v1 import environment_pb2 as pb
from envwire.wire.envelope import split_header

#: Fields of InteractRequest whose requests are routed to a session's server.
ROUTED = SESSION_REQUESTS | {"renew_lease", "get_session_stats"}

#: How long to wait for a session's unknown server, in seconds, since it may be about to register again.
_REGISTER_SECONDS = 2.5
_POLL_SECONDS = 0.1


class Routes:
    """The connection to each server.

    Args:
        registry: The servers.
        clock: Monotonic time, in seconds.
        open_link: Opens the connection to a server.
    """

    def __init__(
        self, registry: Registry, clock: Callable[[], float], open_link: Callable[[Member], Link]
    ) -> None:
        self._registry = registry
        self._clock = clock
        self._open_link = open_link
        self._links: dict[str, Link] = {}
        self._closing: set[asyncio.Task[None]] = set()

    def link(self, member: Member) -> Link:
        """Returns the connection to a server, a new one if another registration changed what it rests on."""
        link = self._links.get(member.incarnation)
        if link is None or (link.target, link.proven) != (member.target, member.proven):
            self.cut(member)
            link = self._links[member.incarnation] = self._open_link(member)
        return link

    def cut(self, member: Member) -> None:
        """Fails all calls that are waiting for a server."""
        link = self._links.pop(member.incarnation, None)
        if link is not None:
            closing = asyncio.ensure_future(link.close())
            self._closing.add(closing)
            closing.add_done_callback(self._closing.discard)

    async def find(self, kind: str, request: bytes) -> Member:
        """Returns the server of a session.

        Args:
            kind: The request's field in InteractRequest.
            request: The InteractRequest.

        Raises:
            FaultError: SESSION_LOST: the server is dead. UNKNOWN_SESSION: no server makes such ids.
            ServerGoneError: The server is not registered, so nothing is known about the session.
        """
        return await self.owner(_session_of(kind, request))

    async def owner(self, session_id: str) -> Member:
        """Returns the server of a session.

        Raises:
            FaultError: SESSION_LOST: the server is dead. UNKNOWN_SESSION: no server makes such ids.
            ServerGoneError: The server is not registered, so nothing is known about the session.
        """
        if "-" not in session_id:
            raise FaultError(
                Reason.UNKNOWN_SESSION,
                f"no server of this farm made session {session_id!r}; make the environment again",
                metadata={"session_id": session_id},
            )
        deadline = self._clock() + _REGISTER_SECONDS
        while (member := self._registry.owner(session_id)) is None:
            now = self._clock()
            if self._registry.locate(session_id, now)[0] == Liveness.LIVENESS_DEAD:
                raise session_lost(session_id)
            if now > deadline:
                raise ServerGoneError(f"the server of session {session_id} is not registered here")
            await asyncio.sleep(_POLL_SECONDS)
        return member

    async def close(self) -> None:
        """Ends all connections."""
        links = list(self._links.values())
        self._links.clear()
        await asyncio.gather(*(link.close() for link in links), *self._closing)


def session_lost(session_id: str) -> FaultError:
    """Returns the error for a session whose server is dead."""
    return FaultError(
        Reason.SESSION_LOST,
        f"the server of session {session_id} is gone; make the environment again to go on",
        metadata={"session_id": session_id},
    )


def _session_of(kind: str, request: bytes) -> str:
    if parts := split_header(request):
        return parts.parse_header().session_id
    parsed = pb.InteractRequest.FromString(request)
    session_id: str = getattr(parsed, kind).header.session_id
    return session_id
