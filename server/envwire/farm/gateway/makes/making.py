"""Sends a Make to the least busy server, and to the next one when that is full or gone."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from typing import TypeVar

from envwire.codec import FaultError, Reason
from envwire.farm.gateway.makes.make_queue import MakeQueue
from envwire.farm.gateway.makes.request_ids import RequestIds
from envwire.farm.gateway.registry.placement import Want
from envwire.farm.gateway.registry.registry import Registry
from envwire.farm.gateway.registry.states import Member
from envwire.farm.gateway.relaying.links import RefusedError, ServerGoneError
from envwire.server._front.tally import MADE, Tally
from envwire.v1 import environment_pb2 as pb

_log = logging.getLogger("envwire.farm")

T = TypeVar("T")
#: Sends the Make to a server and returns its answer; raises RefusedError or ServerGoneError.
Send = Callable[[Member], Awaitable[T]]

#: Refusals after which another server is tried.
_TRY_ANOTHER = frozenset({Reason.CAPACITY_REACHED, Reason.DRAINING})


class Maker:
    """Finds servers for Makes.

    Args:
        registry: The servers.
        queue: Where Makes wait for room.
        tally: Counts them.
    """

    def __init__(self, registry: Registry, queue: MakeQueue, tally: Tally) -> None:
        self._registry = registry
        self._queue = queue
        self._ids = RequestIds()
        self._tally = tally

    async def make(self, request: pb.MakeRequest, send: Send[T]) -> T:
        """Sends a Make to a server that makes it, and returns what `send` does.

        Raises:
            FaultError: No server has room, or none makes it.
            RefusedError: A server refuses it, and others would as well.
        """
        with self._tally.making() as count:
            try:
                answer = await self._make(request, send)
            except RefusedError as error:
                count.outcome = error.reason.value if error.reason else error.code.name
                raise
            count.outcome = MADE
            return answer

    async def _make(self, request: pb.MakeRequest, send: Send[T]) -> T:
        if request.HasField("copy_of"):
            return await self._copy(request.copy_of.session_id, send)
        async with self._ids.turn(request.request_id) as sent:
            before = self._registry.owner(f"-{sent.run}") if sent.run else None
            if before is not None:  # the Make is a repeat
                self._registry.send_to(before)
            tried: frozenset[Member] = frozenset()
            want = Want(request.env_id, request.library)
            while True:
                member = before or await self._queue.claim(want, tried)
                sent.run, before = member.incarnation, None
                try:
                    return await self._send(member, send)
                except ServerGoneError as error:
                    refusal: Exception = error
                except RefusedError as error:
                    if error.reason not in _TRY_ANOTHER:
                        raise
                    refusal = error
                _log.info("%s makes no %s: %s", member.address, request.env_id, refusal)
                tried |= {member}

    async def _send(self, member: Member, send: Send[T]) -> T:
        """Sends a Make for which a slot was taken."""
        made = False
        try:
            answer = await send(member)
            made = True
            return answer
        finally:
            self._registry.settle(member, made=made)

    async def _copy(self, session_id: str, send: Send[T]) -> T:
        member = self._registry.owner(session_id)
        if member is None:
            raise FaultError(
                Reason.UNKNOWN_SESSION,
                f"no server of this farm has session {session_id!r}; make the environment again",
                metadata={"session_id": session_id},
            )
        self._registry.send_to(member)
        return await self._send(member, send)
