"""Orders that a server answers, each awaited for a limited time."""

from __future__ import annotations

import asyncio
from typing import Generic, TypeVar

from envwire.farm.gateway.orders.outbox import Outbox, UnansweredError
from envwire.farm.v1 import farm_pb2 as pb

Key = TypeVar("Key")
Answer = TypeVar("Answer")


class PendingOrders(Generic[Key, Answer]):
    """Orders of one kind to one server, matched with their answers by key.

    Args:
        outbox: Carries the orders.
        seconds: Longest wait for an answer.
    """

    def __init__(self, outbox: Outbox, seconds: float) -> None:
        self._outbox = outbox
        self._seconds = seconds
        self._asked: dict[Key, asyncio.Future[Answer]] = {}
        self._asked_since: float | None = None

    async def ask(self, key: Key, order: pb.RegisterResponse) -> Answer:
        """Sends an order and returns its answer.

        Args:
            key: Identifies the answer.
            order: The order.

        Raises:
            UnansweredError: The server did not answer in time.
        """
        loop = asyncio.get_running_loop()
        self._asked_since = loop.time() if self._asked_since is None else self._asked_since
        asked: asyncio.Future[Answer] = loop.create_future()
        self._asked[key] = asked
        late = UnansweredError(f"it did not answer within {self._seconds:g} s")
        timer = loop.call_later(self._seconds, _give_up, asked, late)
        try:
            self._outbox.put(order)
            return await asked
        finally:
            timer.cancel()
            del self._asked[key]

    def take_answer(self, key: Key, answer: Answer) -> bool:
        """Delivers an answer to its waiting order; returns whether anybody still waits for it."""
        self._asked_since = None
        asked = self._asked.get(key)
        if asked is None or asked.done():
            return False
        asked.set_result(answer)
        return True

    @property
    def silence(self) -> float:
        """Seconds without any answer since the first unanswered order; 0 without one."""
        return (
            0.0
            if self._asked_since is None
            else asyncio.get_running_loop().time() - self._asked_since
        )

    def end(self) -> None:
        """Fails all waiting orders, since the registration ended."""
        for asked in self._asked.values():
            _give_up(asked, UnansweredError("its registration ended"))


def _give_up(asked: asyncio.Future[Answer], error: UnansweredError) -> None:
    if not asked.done():
        asked.set_exception(error)
