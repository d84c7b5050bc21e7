"""The open registrations, over which the gateway sends orders to servers."""

from __future__ import annotations

import time
from collections.abc import Callable

from envwire.farm.gateway.orders.operator_calls import OperatorCalls
from envwire.farm.gateway.orders.outbox import Outbox, UnansweredError
from envwire.farm.gateway.orders.slots import SlotKeeper
from envwire.farm.gateway.registry.quotas import Claim
from envwire.farm.gateway.registry.states import Member
from envwire.farm.v1 import farm_pb2 as pb


class Registration:
    """An open registration.

    Args:
        clock: Monotonic time, in seconds, by which orders expire.

    Attributes:
        outbox: Queue of the orders that it carries.
        slots: Orders about slots.
        calls: Operators' calls.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.outbox = Outbox()
        self.slots = SlotKeeper(self.outbox)
        self.calls = OperatorCalls(self.outbox, clock)

    def take_answer(self, report: pb.RegisterRequest) -> bool:
        """Delivers a server's message if it answers an order; returns whether it does."""
        if report.HasField("slot_answer"):
            self.slots.take_answer(report.slot_answer)
        elif report.HasField("admin_answer"):
            self.calls.take_answer(report.admin_answer)
        else:
            return False
        return True

    @property
    def silence(self) -> float:
        """Seconds without any answer since the first unanswered order; 0 without one."""
        return max(self.slots.silence, self.calls.silence)

    def end(self) -> None:
        """Fails all orders that wait for the server."""
        self.slots.end()
        self.calls.end()


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

    def slots_of(self, member: Member) -> SlotKeeper | None:
        """Returns the keeper of a server's slots; None for a server that keeps no reservations."""
        registration = self._open.get(member.incarnation)
        return registration.slots if registration and member.hello.keeps_slots else None

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
        slots = self.slots_of(member)
        if slots is None or (claim is not None and member.clients is None):
            raise UnansweredError("it keeps none, or does not count them")
        granted = await slots.reserve(name, count, seconds, claim.principal if claim else "")
        if claim is not None and granted:
            claim.granted(member, count)
        return granted

    def release(self, member: Member, name: bytes) -> None:
        """Tells a server to release the slots of a reservation that no Make used."""
        slots = self.slots_of(member)
        if slots is not None:
            slots.release(name)

    def calls_to(self, member: Member) -> OperatorCalls | None:
        """Returns the operators' calls to a server; None for a server that accepts none."""
        registration = self._open.get(member.incarnation)
        return registration.calls if registration and member.hello.takes_admin_orders else None
