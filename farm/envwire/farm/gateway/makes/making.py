"""Sends a Make to the least busy server, and to the next one if that is full or gone."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import TypeVar

from envwire.codec import FaultError, Reason
from envwire.farm.gateway.allocation.relayed_slots import RelayedSlots
from envwire.farm.gateway.makes.make_queue import MakeQueue
from envwire.farm.gateway.makes.request_ids import RequestIds, Sent
from envwire.farm.gateway.orders.outbox import UnansweredError
from envwire.farm.gateway.orders.registrations import Registrations
from envwire.farm.gateway.registry.placement import Requirements
from envwire.farm.gateway.registry.quotas import Claim, Quotas
from envwire.farm.gateway.registry.registry import HELD_SECONDS, Registry
from envwire.farm.gateway.registry.states import Member
from envwire.farm.gateway.relaying.links import RefusedError, ServerGoneError
from envwire.server._auth.client import Client
from envwire.server._front.counters import MADE, Tally
from envwire.server._front.makes.request_size import check_bounds, check_request_id
from envwire.server._ipc.refusals import fault_reply
from envwire.v1 import environment_pb2 as pb

_log = logging.getLogger("envwire.farm")

T = TypeVar("T")
#: Sends the Make to a server and returns its answer; raises RefusedError or ServerGoneError.
Send = Callable[[Member], Awaitable[T]]


@dataclass(eq=False)
class Maker:
    """Finds servers for Makes.

    Args:
        registry: The servers.
        queue: The queue of Makes that wait for a slot.
        tally: Counts the Makes.
        quotas: The quotas of clients.
        registrations: Reserve slots on servers for clients with a quota, so that the servers count them.
        relayed_slots: Where Makes go that name allocated slots.
    """

    _registry: Registry
    _queue: MakeQueue
    _tally: Tally
    _quotas: Quotas
    _registrations: Registrations
    _relayed_slots: RelayedSlots
    _ids: RequestIds = field(default_factory=RequestIds, init=False)

    async def make(
        self, request: pb.MakeRequest, send: Send[T], client: Client, reservation: bytes
    ) -> T:
        """Finds a server for a Make, sends it there, and returns the result of `send`.

        Args:
            request: The Make.
            send: Sends the Make to a server.
            client: The client.
            reservation: Id of the slot to reserve for it, if the client has a quota; the id that the client named, if
                it did.

        Raises:
            FaultError: No server has room, none offers the environment, the client has reached its quota, or the Make
                asks for more than any environment needs.
            RefusedError: A server refuses the Make for a reason that applies to all.
        """
        check_request_id(request)  # what is remembered of Makes has bounds by this
        check_bounds(request)
        with self._tally.making() as count:
            try:
                answer = await self._make(request, send, client, reservation)
            except RefusedError as error:
                count.outcome = error.reason.value if error.reason else error.code.name
                raise
            count.outcome = MADE
            return answer

    async def _make(
        self, request: pb.MakeRequest, send: Send[T], client: Client, reservation: bytes
    ) -> T:
        async with self._ids.turn(request.request_id) as sent:
            first = self._registry.owner(f"-{sent.run}") if sent.run else None
            if client.reservation and first is None and not request.HasField("copy_of"):
                return await self._use_slot(client, send, sent)
            if first is not None and self._quotas.of(client):
                try:
                    with self._quotas.claim(client, 0) as nothing:
                        return await self._join(first, send, nothing, reservation)
                except (ServerGoneError, RefusedError) as error:
                    _check_other(error)
            if self._quotas.of(client):
                await self._queue.settled()
            with self._quotas.claim(client, 1) as claim:
                counted = self._counted(send, claim, reservation) if claim else send
                if request.HasField("copy_of"):
                    return await self._copy(request.copy_of.session_id, counted, sent)
                return await self._place(request, counted, sent, first, client)

    async def _use_slot(self, client: Client, send: Send[T], sent: Sent) -> T:
        """Sends a Make to the server that keeps the slots which it names; they were counted when they were allocated.

        Raises:
            FaultError: CAPACITY_REACHED: the client has no such slot.
            ServerGoneError: The server is gone.
            RefusedError: It refuses the Make.
        """
        sent.run = self._relayed_slots.take(client.reservation, client.name)
        member = self._registry.owner(f"-{sent.run}")
        if member is None:
            raise ServerGoneError("the server that kept this slot is gone; allocate again")
        self._registry.send_to(member)
        return await self._send(member, send)

    async def _join(
        self, first: Member, send: Send[T], nothing: Claim | None, reservation: bytes
    ) -> T:
        """Repeats a Make of a client with a quota, which may be used up by the session that the first one made.

        Raises:
            ServerGoneError: The server does not answer.
            RefusedError: The server no longer knows the first Make, and makes no session that would not count.
        """
        await self._keep(first, 0, nothing, reservation)
        self._registry.send_to(first)
        return await self._send(first, send)

    async def _place(
        self,
        request: pb.MakeRequest,
        send: Send[T],
        sent: Sent,
        first: Member | None,
        client: Client,
    ) -> T:
        """Sends a repeated Make to the server that got the first one, and any other to servers with room."""
        if first is not None:
            self._registry.send_to(first)
        refused: dict[Member, float] = {}
        deadline = self._queue.latest(client.deadline)
        requirements = Requirements(request.env_id, request.library)
        while True:
            member = first or await self._queue.claim(
                requirements, refused, client.name, deadline, request.ByteSize()
            )
            sent.run, first = member.incarnation, None
            try:
                return await self._send(member, send)
            except (ServerGoneError, RefusedError) as error:
                _check_other(error)
                _log.info("%s makes no %s: %s", member.address, request.env_id, error)
            refused[member] = member.reported_at

    def _counted(self, send: Send[T], claim: Claim, reservation: bytes) -> Send[T]:
        """Wraps `send` to reserve a slot first, which counts for the client."""

        async def send_counted(member: Member) -> T:
            try:
                await self._keep(member, 1, claim, reservation)
                try:
                    return await send(member)
                except BaseException:
                    claim.given_back(member, 1)
                    raise
            finally:  # a late answer may have reserved it
                self._registrations.release(member, reservation)

        return send_counted

    async def _keep(
        self, member: Member, count: int, claim: Claim | None, reservation: bytes
    ) -> None:
        """Reserves slots on a server; with a count of 0, the server makes no new session for this reservation.

        Raises:
            ServerGoneError: The server does not answer, or does not count slots per client.
            RefusedError: The server has no free slot.
        """
        try:
            kept = await self._registrations.reserve(
                member, reservation, count, HELD_SECONDS, claim
            )
        except UnansweredError as error:
            raise ServerGoneError(f"{member.address} does not count slots: {error}") from None
        if not kept:
            full = FaultError(Reason.CAPACITY_REACHED, f"{member.address} has no free slot")
            raise RefusedError(fault_reply(full).error)

    async def _send(self, member: Member, send: Send[T]) -> T:
        """Sends a Make whose slot was claimed, and reports its outcome to the registry."""
        made = False
        try:
            answer = await send(member)
            made = True
            return answer
        finally:
            self._registry.settle(member, made=made)

    async def _copy(self, session_id: str, send: Send[T], sent: Sent) -> T:
        member = self._registry.owner(session_id)
        if member is None:
            raise FaultError(
                Reason.UNKNOWN_SESSION,
                f"no server of this farm has session {session_id!r}; make the environment again",
                metadata={"session_id": session_id},
            )
        sent.run = member.incarnation
        self._registry.send_to(member)
        return await self._send(member, send)


def _check_other(error: ServerGoneError | RefusedError) -> None:
    """Raises the refusal of a Make that other servers would refuse as well."""
    if isinstance(error, RefusedError) and not (error.reason and error.reason.try_elsewhere):
        raise error
