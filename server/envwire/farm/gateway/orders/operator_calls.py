"""Calls of AdminService that a server serves for its gateway."""

from __future__ import annotations

from itertools import count

from envwire.farm.gateway.orders.outbox import Outbox
from envwire.farm.gateway.orders.questions import Questions
from envwire.farm.v1 import farm_pb2 as pb

#: A server that lives answers in milliseconds, a thousand sessions in ten; one whose machine is overloaded later.
_ANSWER_SECONDS = 2.0


class OperatorCalls:
    """The calls to one server.

    Args:
        outbox: Carries orders to it.
    """

    def __init__(self, outbox: Outbox) -> None:
        self._asked = Questions[int, pb.AdminAnswer](outbox, _ANSWER_SECONDS)
        self._numbers = count(1)

    async def ask(self, order: pb.AdminOrder) -> pb.AdminAnswer:
        """Has the server serve a call, and returns its answer.

        Args:
            order: The call; it gets its number here.

        Raises:
            UnansweredError: There is none.
        """
        order.order_id = next(self._numbers)
        return await self._asked.ask(order.order_id, pb.RegisterResponse(admin_order=order))

    def take_answer(self, answer: pb.AdminAnswer) -> None:
        """Takes a server's answer."""
        self._asked.take_answer(answer.order_id, answer)

    @property
    def silence(self) -> float:
        """For how long the server answered nothing though it was asked, in seconds."""
        return self._asked.silence

    def end(self) -> None:
        """Ends all waits: the registration ended."""
        self._asked.end()
