"""Orders that reserve free slots on a server."""

from __future__ import annotations

import contextlib

from envwire.codec.durations import to_duration
from envwire.farm.gateway.orders.outbox import Outbox, UnansweredError
from envwire.farm.gateway.orders.pending_orders import PendingOrders
from envwire.farm.v1 import farm_pb2 as pb

_Action = pb.SlotOrder.Action

#: Longest wait for an answer, in seconds; a healthy server answers in milliseconds.
_ANSWER_SECONDS = 1.0


class SlotKeeper:
    """Reserves free slots of one server.

    Args:
        outbox: Carries orders to it.
    """

    def __init__(self, outbox: Outbox) -> None:
        self._outbox = outbox
        self._pending = PendingOrders[bytes, bool](outbox, _ANSWER_SECONDS)

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
        return await self._pending.ask(name, pb.RegisterResponse(slot_order=order))

    def commit(self, name: bytes, seconds: float) -> None:
        """Extends a reservation to the given number of seconds from now."""
        held = to_duration(seconds)
        self._tell(pb.SlotOrder(action=_Action.ACTION_COMMIT, reservation_id=name, held=held))

    def release(self, name: bytes) -> None:
        """Tells the server to release the unused slots of a reservation."""
        self._tell(pb.SlotOrder(action=_Action.ACTION_RELEASE, reservation_id=name))

    def _tell(self, order: pb.SlotOrder) -> None:
        with contextlib.suppress(UnansweredError):  # it then lasts as first asked for
            self._outbox.put(pb.RegisterResponse(slot_order=order))

    def take_answer(self, answer: pb.SlotAnswer) -> None:
        """Delivers a server's answer to the order that waits for it."""
        self._pending.take_answer(answer.reservation_id, answer.granted)

    @property
    def silence(self) -> float:
        """Seconds without any answer since the first unanswered order; 0 without one."""
        return self._pending.silence

    def end(self) -> None:
        """Fails all waiting orders, since the registration ended."""
        self._pending.end()
