"""What a gateway asks of a server over its registration: calls of the operator, reservations of slots, and totals."""

from __future__ import annotations

import logging
import time
from collections import Counter

from envwire.codec import FaultError, Reason, encode_fault
from envwire.codec.messages import to_seconds
from envwire.farm.v1 import farm_pb2
from envwire.server._auth.client import EVERYTHING, FARM_PREFIX, TOKEN_PREFIX, Client, Scope
from envwire.server._front.admin_service import AdminService
from envwire.server._front.sessions.table import Sessions
from envwire.server._logs import extra
from envwire.server._processes.resources import usage_of

_LOSSES = (Reason.SESSION_LOST, Reason.STEP_TIMEOUT)
#: Environments can write to their counters: what they write there has to fit into a message.
_MOST = 2**63


def usage_of_slots(sessions: Sessions) -> list[farm_pb2.Usage]:
    """Returns who has used the slots, by the names that clients have at the gateway."""
    return [
        farm_pb2.Usage(
            principal=holder.owner.removeprefix(FARM_PREFIX),
            env_id=holder.env_id,
            sessions=use.sessions,
            open_sessions=use.open,
            slot_milliseconds=int(1000 * use.seconds),
        )
        for holder, use in sessions.usage.with_open(sessions)
    ]


def totals_of(sessions: Sessions) -> farm_pb2.ServerTotals:
    """Returns the totals of all sessions, ended ones included."""
    totals = sessions.totals.with_open(sessions)
    processes = {session.process for session in sessions}
    taken = [usage_of(process.pid) for process in processes]
    cpu = totals.cpu + sum(process.processor_time.left() for process in processes)
    return farm_pb2.ServerTotals(
        steps=min(totals.steps, _MOST),
        episodes=min(sum(each.episodes for each in totals.episodes.values()), _MOST),
        losses=sum(sessions.tally.ends[reason.value] for reason in _LOSSES),
        cpu_milliseconds=int(1000 * cpu),
        memory_bytes=sum(each.memory for each in taken if each),
    )


_log = logging.getLogger("envwire.server")

_Action = farm_pb2.SlotOrder.Action


def gateway_client(gateway: str, *, shown_token: bool) -> Client:
    """Returns a gateway as a client of the server that joined it.

    The gateway has checked the operator's scope. A gateway without tokens has no operators, so it may only list
    sessions: if it asks for more, it may be another process of this machine that took the port of a dead gateway.

    Args:
        gateway: HOST:PORT of the gateway.
        shown_token: Whether the server joined with a token.
    """
    return Client(
        f"gateway {gateway}",
        EVERYTHING if shown_token else frozenset({Scope.INSPECT}),
        "Give the server a token to join with, by --join-token",
    )


class AdminOrders:
    """Serves the AdminService calls that one gateway forwards.

    Args:
        service: The server's AdminService.
        gateway: The gateway, as a client.
        now: Current time of the gateway's clock, in seconds; orders expire by that clock.
    """

    def __init__(self, service: AdminService, gateway: Client, now: int) -> None:
        self._ahead = time.monotonic() - now
        self._answers = service.answers
        self._gateway = gateway

    async def obey(self, order: farm_pb2.AdminOrder) -> farm_pb2.AdminAnswer:
        """Serves a call; errors are reported in the answer."""
        answer = farm_pb2.AdminAnswer(order_id=order.order_id)
        try:
            await self._serve(order, answer)
        except FaultError as fault:
            encode_fault(fault, answer.error)
        return answer

    async def _serve(self, order: farm_pb2.AdminOrder, answer: farm_pb2.AdminAnswer) -> None:
        kind = order.WhichOneof("call")
        if kind is None:
            raise FaultError(Reason.UNSUPPORTED, "this server does not know the call; update it")
        if order.expires and time.monotonic() > order.expires + self._ahead:
            raise FaultError(Reason.INVALID_VALUE, f"{kind} came too late: it has expired")
        client = self._gateway.name
        _log.info("%s orders %s for %s", client, kind, order.principal, extra=extra(client=client))
        self._gateway.check(kind)
        request = getattr(order, kind).SerializeToString()
        getattr(answer, kind).CopyFrom(await self._answers[kind](request, self._gateway))


class SlotOrders:
    """Reserves slots of one server, which keeps the reservations, so that several gateways agree.

    Args:
        sessions: The server's sessions.
    """

    def __init__(self, sessions: Sessions) -> None:
        self._sessions = sessions

    @property
    def reserved(self) -> int:
        """Number of reserved slots."""
        return self._sessions.reservations.slots

    @property
    def by_client(self) -> farm_pb2.ClientSlots:
        """Slots that clients with tokens hold, by their names at the gateway."""
        slots = Counter[str]()
        for held in (self._sessions.holders, self._sessions.reservations.holders):
            for name, count in held.items():
                slots[name.removeprefix(FARM_PREFIX)] += count
        tokens = {name: count for name, count in slots.items() if name.startswith(TOKEN_PREFIX)}
        return farm_pb2.ClientSlots(slots=tokens)

    def obey(self, order: farm_pb2.SlotOrder) -> farm_pb2.SlotAnswer | None:
        """Executes an order; returns the answer if it is a reservation."""
        name, held = order.reservation_id, to_seconds(order.held)
        if order.action == _Action.ACTION_RESERVE:
            # A count of 0 takes no slot: a draining server still answers repeats of earlier Makes.
            refuses = self._sessions.draining and order.count > 0
            granted = not refuses and self._sessions.reserve_slots(
                name, order.count, held, order.principal
            )
            return farm_pb2.SlotAnswer(reservation_id=name, granted=granted)
        if order.action == _Action.ACTION_COMMIT:
            self._sessions.reservations.extend(name, held)
        elif order.action == _Action.ACTION_RELEASE and self._sessions.reservations.release(name):
            self._sessions.on_free()
        return None
