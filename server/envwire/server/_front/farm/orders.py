"""What a gateway asks of a server over its registration: the operator's calls, slots, totals, and direct channels.

For a client that reaches only the gateway, the server connects to the gateway. That passes on the client's hello, by
which the server checks that the session is the client's own. The connection is then the session's direct channel, as if
the client had connected.
"""

from __future__ import annotations

import asyncio
import logging
import ssl
import time
from collections import Counter
from collections.abc import Awaitable, Callable

from envwire.codec import FaultError, Reason, encode_fault
from envwire.codec.messages import to_seconds
from envwire.farm.v1 import farm_pb2
from envwire.server._auth.client import FARM_PREFIX, TOKEN_PREFIX, Client
from envwire.server._auth.scopes import EVERYTHING, Scope
from envwire.server._front.admin_service import AdminService
from envwire.server._front.direct_listener import DirectListener, Peer
from envwire.server._front.hello_frames import MOST_OPENING, RELAY_PREAMBLE
from envwire.server._front.pipe import begin_tls
from envwire.server._front.ports import dial
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


#: Seconds in which the gateway has to accept the connection; its client waits for three.
CONNECT_SECONDS = 3.0

Answer = Callable[[farm_pb2.RegisterRequest], Awaitable[None]]


class ChannelOrders:
    """Executes the channel orders of one registration, until it is stopped.

    Args:
        direct: Hands connections to sessions.
        host: The gateway's host, with which the server registered: no other is ever connected to.
        tls: The authorities of the gateway's certificate; None for no TLS.
        answer: Sends an answer to the gateway.
    """

    def __init__(
        self, direct: DirectListener, host: str, tls: ssl.SSLContext | None, answer: Answer
    ) -> None:
        self._direct = direct
        self._host = host
        self._tls = tls
        self._answer = answer
        self._opening: set[asyncio.Task[None]] = set()

    def obey(self, order: farm_pb2.ChannelOrder) -> None:
        """Begins to open a channel, unless too many are being opened; a failure is sent as the answer."""
        task = asyncio.ensure_future(self._obey(order))
        self._opening.add(task)
        task.add_done_callback(self._opening.discard)

    async def _obey(self, order: farm_pb2.ChannelOrder) -> None:
        answer = farm_pb2.ChannelAnswer(key=order.key)
        try:
            if len(self._opening) > MOST_OPENING:
                raise OSError(f"{MOST_OPENING} are being opened")
            await self._direct.admit_through_gateway(order.hello, self._connect(order))
        except FaultError as fault:
            encode_fault(fault, answer.error)
        except (OSError, asyncio.TimeoutError) as error:
            reason = str(error) or f"no answer within {CONNECT_SECONDS:g} s"
            _log.warning("no channel to %s:%d of the gateway: %s", self._host, order.port, reason)
        else:
            return
        await self._answer(farm_pb2.RegisterRequest(channel_answer=answer))

    async def _connect(self, order: farm_pb2.ChannelOrder) -> Peer:
        return await asyncio.wait_for(self._connected(order), CONNECT_SECONDS)

    async def _connected(self, order: farm_pb2.ChannelOrder) -> Peer:
        """Connects to the gateway, and shows the key there."""
        connection = plain = await dial(self._host, order.port)
        far = connection
        try:
            address = str(connection.getpeername()[0])
            if self._tls is not None:
                plain, far = await begin_tls(connection, self._tls, self._host)
            await asyncio.get_running_loop().sock_sendall(plain, RELAY_PREAMBLE + order.key)
        except BaseException:
            plain.close()
            raise
        return Peer(plain, far, address)

    def stop(self) -> None:
        """Opens no more channels; those that are open stay."""
        for task in self._opening:
            task.cancel()
