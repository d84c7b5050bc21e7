"""The open registrations, over which the gateway sends orders to servers."""

from __future__ import annotations

import contextlib
import itertools
import math
import time
from collections.abc import Callable
from typing import Any

from envwire.codec.messages import to_duration
from envwire.farm.gateway.orders.outbox import Outbox, UnansweredError
from envwire.farm.gateway.orders.pending_orders import PendingOrders
from envwire.farm.gateway.registry.quotas import Claim
from envwire.farm.gateway.registry.states import Member
from envwire.farm.v1 import farm_pb2 as pb
from envwire.server._front.pipe import PipeEnd
from envwire.v1 import direct_pb2, status_pb2

_Action = pb.SlotOrder.Action
#: Longest wait for the answer to a reservation, in seconds; a healthy server answers in milliseconds.
_SLOT_SECONDS = 1.0
#: Longest wait for the answer to an operator's call, in seconds. A server answers in milliseconds, one with 1,000
#: sessions in ten; an overloaded machine takes longer.
_CALL_SECONDS = 2.0
#: Longest wait for a server that connects to the gateway, in seconds: it says after three that it cannot.
_CHANNEL_SECONDS = 4.0


class Registration:
    """An open registration of one server, which carries orders to it.

    Args:
        clock: Monotonic time, in seconds, by which orders expire.

    Attributes:
        outbox: Queue of the orders that it carries.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.outbox = Outbox()
        self._clock = clock
        self._reservations = PendingOrders[bytes, bool](self.outbox, _SLOT_SECONDS)
        self._calls = PendingOrders[int, pb.AdminAnswer](self.outbox, _CALL_SECONDS)
        self._channels = PendingOrders[bytes, PipeEnd | pb.ChannelAnswer](
            self.outbox, _CHANNEL_SECONDS
        )
        self._numbers = itertools.count(1)

    async def reserve(self, name: bytes, count: int, seconds: float, principal: str = "") -> bool:
        """Asks the server to reserve free slots; returns whether it did.

        Args:
            name: Id of the reservation.
            count: Number of slots.
            seconds: How long to reserve them.
            principal: Client whose quota they count against; empty for none.

        Raises:
            UnansweredError: The server does not answer; slots that it may have reserved expire on their own.
        """
        order = pb.SlotOrder(
            action=_Action.ACTION_RESERVE,
            reservation_id=name,
            count=count,
            held=to_duration(seconds),
            principal=principal,
        )
        return await self._reservations.ask(name, pb.RegisterResponse(slot_order=order))

    def commit(self, name: bytes, seconds: float) -> None:
        """Extends a reservation to the given number of seconds from now."""
        held = to_duration(seconds)
        self._tell(pb.SlotOrder(action=_Action.ACTION_COMMIT, reservation_id=name, held=held))

    def release(self, name: bytes) -> None:
        """Tells the server to release the unused slots of a reservation."""
        self._tell(pb.SlotOrder(action=_Action.ACTION_RELEASE, reservation_id=name))

    def _tell(self, order: pb.SlotOrder) -> None:
        with contextlib.suppress(UnansweredError):  # it then lasts as first asked for
            self.outbox.put(pb.RegisterResponse(slot_order=order))

    async def call(self, order: pb.AdminOrder) -> pb.AdminAnswer:
        """Forwards an operator's call and returns the server's answer.

        Args:
            order: The call; its number and when it expires are assigned here. Both clocks of the contract are in whole
                seconds, so a server may still serve it up to 2 s after that.

        Raises:
            UnansweredError: The server does not answer.
        """
        order.order_id = next(self._numbers)
        order.expires = math.ceil(self._clock() + _CALL_SECONDS)
        return await self._calls.ask(order.order_id, pb.RegisterResponse(admin_order=order))

    async def open_channel(
        self, key: bytes, port: int, hello: direct_pb2.HelloRequest
    ) -> PipeEnd | status_pb2.ErrorStatus:
        """Has the server connect to the gateway for a client.

        Args:
            key: What the server shows then.
            port: Where it connects to.
            hello: What the client sent.

        Returns:
            The server's connection, or the error with which it refuses the client.

        Raises:
            UnansweredError: The server did not connect.
        """
        order = pb.ChannelOrder(key=key, port=port, hello=hello)
        answer = await self._channels.ask(key, pb.RegisterResponse(channel_order=order))
        if isinstance(answer, PipeEnd):
            return answer
        if not answer.HasField("error"):
            raise UnansweredError("it could not connect to the gateway's direct port")
        return answer.error

    def take_channel(self, key: bytes, connection: PipeEnd) -> bool:
        """Delivers the connection of a server; returns whether its client still waits for it."""
        return self._channels.take_answer(key, connection)

    def take_answer(self, report: pb.RegisterRequest) -> bool:
        """Delivers a server's message if it answers an order; returns whether it does."""
        if report.HasField("slot_answer"):
            slots = report.slot_answer
            self._reservations.take_answer(slots.reservation_id, slots.granted)
        elif report.HasField("admin_answer"):
            self._calls.take_answer(report.admin_answer.order_id, report.admin_answer)
        elif report.HasField("channel_answer"):
            self._channels.take_answer(report.channel_answer.key, report.channel_answer)
        else:
            return False
        return True

    @property
    def silence(self) -> float:
        """Seconds without any answer since the first unanswered order; 0 without one."""
        return max(each.silence for each in self._orders)

    def end(self) -> None:
        """Fails all orders that wait for the server."""
        for each in self._orders:
            each.end()

    @property
    def _orders(self) -> tuple[PendingOrders[Any, Any], ...]:
        return self._reservations, self._calls, self._channels


class Registrations:
    """The open registrations of a farm's servers."""

    def __init__(self) -> None:
        self._open: dict[str, Registration] = {}

    def add(self, member: Member, registration: Registration) -> None:
        """Adds a server's new registration."""
        self._open[member.incarnation] = registration

    def remove(self, member: Member, registration: Registration) -> None:
        """Removes a registration that ended."""
        registration.end()
        if self._open.get(member.incarnation) is registration:
            del self._open[member.incarnation]

    def for_slots(self, member: Member) -> Registration | None:
        """Returns a server's registration; None for a server that keeps no reservations."""
        return self._open.get(member.incarnation) if member.hello.keeps_slots else None

    def for_channels(self, member: Member) -> Registration | None:
        """Returns a server's registration; None for a server that connects to no gateway for clients."""
        return self._open.get(member.incarnation) if member.hello.dials_channels else None

    def for_calls(self, member: Member) -> Registration | None:
        """Returns a server's registration; None for a server that accepts no operators' calls."""
        return self._open.get(member.incarnation) if member.hello.takes_admin_orders else None

    async def reserve(
        self, member: Member, name: bytes, count: int, seconds: float, claim: Claim | None
    ) -> bool:
        """Asks a server to reserve free slots; returns whether it did.

        Args:
            member: The server.
            name: Id of the reservation.
            count: Number of slots.
            seconds: How long to reserve them.
            claim: The client's claim on its quota; None for a client without a quota.

        Raises:
            UnansweredError: The server does not answer, keeps no reservations, or does not count them per client.
        """
        registration = self.for_slots(member)
        if registration is None or (claim is not None and member.clients is None):
            raise UnansweredError("it keeps none, or does not count them")
        principal = claim.principal if claim else ""
        granted = await registration.reserve(name, count, seconds, principal)
        if claim is not None and granted:
            claim.granted(member, count)
        return granted

    def release(self, member: Member, name: bytes) -> None:
        """Tells a server to release the slots of a reservation that no Make used."""
        registration = self.for_slots(member)
        if registration is not None:
            registration.release(name)
