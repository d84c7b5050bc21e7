"""AdminService calls that a gateway forwards to a server."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import count

from envwire.farm.gateway.orders.outbox import Outbox
from envwire.farm.gateway.orders.pending_orders import PendingOrders
from envwire.farm.v1 import farm_pb2 as pb

#: Longest wait for an answer, in seconds. A server answers in milliseconds, one with 1,000 sessions in ten; an
#: overloaded machine takes longer.
_ANSWER_SECONDS = 2.0


class OperatorCalls:
    """The forwarded calls to one server.

    Args:
        outbox: Carries orders to it.
        clock: Monotonic time, in seconds, by which orders expire.
    """

    def __init__(self, outbox: Outbox, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._pending = PendingOrders[int, pb.AdminAnswer](outbox, _ANSWER_SECONDS)
        self._numbers = count(1)

    async def ask(self, order: pb.AdminOrder) -> pb.AdminAnswer:
        """Forwards a call and returns the server's answer.

        Args:
            order: The call; its number and when it expires are assigned here.

        Raises:
            UnansweredError: The server does not answer.
        """
        order.order_id = next(self._numbers)
        order.expires = math.ceil(self._clock() + _ANSWER_SECONDS)
        return await self._pending.ask(order.order_id, pb.RegisterResponse(admin_order=order))

    def take_answer(self, answer: pb.AdminAnswer) -> None:
        """Delivers a server's answer to the call that waits for it."""
        self._pending.take_answer(answer.order_id, answer)

    @property
    def silence(self) -> float:
        """Seconds without any answer since the first unanswered order; 0 without one."""
        return self._pending.silence

    def end(self) -> None:
        """Fails all waiting calls, since the registration ended."""
        self._pending.end()
