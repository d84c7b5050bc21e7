"""The open registrations, over which servers get orders."""

from __future__ import annotations

from envwire.farm.gateway.orders.operator_calls import OperatorCalls
from envwire.farm.gateway.orders.outbox import Outbox, UnansweredError
from envwire.farm.gateway.orders.slots import SlotKeeper
from envwire.farm.gateway.registry.quotas import Claim
from envwire.farm.gateway.registry.states import Member
from envwire.farm.v1 import farm_pb2 as pb


class Registration:
    """An open registration.

    Attributes:
        outbox: The orders that it carries.
        slots: Those about slots.
        calls: Those of operators.
    """

    def __init__(self) -> None:
        self.outbox = Outbox()
        self.slots = SlotKeeper(self.outbox)
        self.calls = OperatorCalls(self.outbox)

    def take_answer(self, report: pb.RegisterRequest) -> bool:
        """Takes what a server sent; returns whether it answers an order."""
        if report.HasField("slot_answer"):
            self.slots.take_answer(report.slot_answer)
        elif report.HasField("admin_answer"):
            self.calls.take_answer(report.admin_answer)
        else:
            return False
        return True

    @property
    def silence(self) -> float:
        """For how long the server answered no order though it was asked, in seconds."""
        return max(self.slots.silence, self.calls.silence)

    def end(self) -> None:
        """Ends all waits for its server."""
        self.slots.end()
        self.calls.end()


class Registrations:
    """The open registrations of a farm's servers."""

    def __init__(self) -> None:
        self._open: dict[str, Registration] = {}

    def add(self, member: Member, registration: Registration) -> None:
        """Adds one that begins."""
        self._open[member.incarnation] = registration

    def remove(self, member: Member, registration: Registration) -> None:
        """Removes one that ended."""
        registration.end()
        if self._open.get(member.incarnation) is registration:
            del self._open[member.incarnation]

    def slots_of(self, member: Member) -> SlotKeeper | None:
        """Returns what reaches the slots of a server; None for one that keeps none."""
        registration = self._open.get(member.incarnation)
        return registration.slots if registration and member.hello.keeps_slots else None

    async def reserve(
        self, member: Member, name: bytes, count: int, seconds: float, claim: Claim | None
    ) -> bool:
        """Has a server keep free slots; returns whether it does.

        Args:
            member: The server.
            name: Names the reservation.
            count: How many.
            seconds: How long.
            claim: What they count for; None where nobody counts.

        Raises:
            UnansweredError: It does not say, keeps none, or does not count them.
        """
        slots = self.slots_of(member)
        if slots is None or (claim is not None and member.clients is None):
            raise UnansweredError("it keeps none, or does not count them")
        granted = await slots.reserve(name, count, seconds, claim.principal if claim else "")
        if claim is not None and granted:
            claim.granted(member, count)
        return granted

    def release(self, member: Member, name: bytes) -> None:
        """Has a server give back what no Make took of a reservation."""
        slots = self.slots_of(member)
        if slots is not None:
            slots.release(name)

    def calls_to(self, member: Member) -> OperatorCalls | None:
        """Returns what reaches a server with operators' calls; None for one that takes none."""
        registration = self._open.get(member.incarnation)
        return registration.calls if registration and member.hello.takes_admin_orders else None
