"""Orders to a server about its free slots."""

from __future__ import annotations

import contextlib

from envwire.codec.durations import to_duration
from envwire.farm.gateway.orders.outbox import Outbox, UnansweredError
from envwire.farm.gateway.orders.questions import Questions
from envwire.farm.v1 import farm_pb2 as pb

_Action = pb.SlotOrder.Action

#: A server that lives answers in milliseconds.
_ANSWER_SECONDS = 1.0


class SlotKeeper:
    """The free slots of one server.

    Args:
        outbox: Carries orders to it.
    """

    def __init__(self, outbox: Outbox) -> None:
        self._outbox = outbox
        self._asked = Questions[bytes, bool](outbox, _ANSWER_SECONDS)

    async def reserve(self, name: bytes, count: int, seconds: float, principal: str = "") -> bool:
        """Has the server keep free slots; returns whether it does.

        Args:
            name: Names the reservation.
            count: How many.
            seconds: How long.
            principal: The client that they count for.

        Raises:
            UnansweredError: It does not say, and keeps none for long.
        """
        order = pb.SlotOrder(
            action=_Action.ACTION_RESERVE,
            reservation_id=name,
            count=count,
            held=to_duration(seconds),
            principal=principal,
        )
        return await self._asked.ask(name, pb.RegisterResponse(slot_order=order))

    def commit(self, name: bytes, seconds: float) -> None:
        """Has the server keep them for so long."""
        held = to_duration(seconds)
        self._tell(pb.SlotOrder(action=_Action.ACTION_COMMIT, reservation_id=name, held=held))

    def release(self, name: bytes) -> None:
        """Has the server give them back."""
        self._tell(pb.SlotOrder(action=_Action.ACTION_RELEASE, reservation_id=name))

    def _tell(self, order: pb.SlotOrder) -> None:
        with contextlib.suppress(UnansweredError):  # it keeps slots for as long as was said first
            self._outbox.put(pb.RegisterResponse(slot_order=order))

    def take_answer(self, answer: pb.SlotAnswer) -> None:
        """Takes a server's answer."""
        self._asked.take_answer(answer.reservation_id, answer.granted)

    @property
    def silence(self) -> float:
        """For how long the server answered nothing though it was asked, in seconds."""
        return self._asked.silence

    def end(self) -> None:
        """Ends all waits: the registration ended."""
        self._asked.end()
