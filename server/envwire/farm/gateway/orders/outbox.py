"""Orders on their way to one server, bounded in number and bytes."""

from __future__ import annotations

import asyncio
from collections import deque

from envwire.farm.v1 import farm_pb2 as pb

#: Orders to one server that it has not read. A thousand allocations at once give it one each, and one more to commit.
MOST_ORDERS = 4096
MOST_BYTES = 256 * 1024


class UnansweredError(Exception):
    """A server does not answer an order; the message says why."""


class Outbox:
    """The orders that one registration has still to carry."""

    def __init__(self) -> None:
        self._orders: deque[bytes] = deque()
        self._bytes = 0
        self._more = asyncio.Event()

    def put(self, order: pb.RegisterResponse) -> None:
        """Adds an order.

        Raises:
            UnansweredError: There are too many that the server has not read.
        """
        raw = order.SerializeToString()
        if len(self._orders) >= MOST_ORDERS or self._bytes + len(raw) > MOST_BYTES:
            raise UnansweredError(f"it left {len(self._orders)} orders unread")
        self._orders.append(raw)
        self._bytes += len(raw)
        self._more.set()

    async def next(self) -> bytes:
        """Returns the order to send next; `sent` reports that it was carried."""
        while not self._orders:
            self._more.clear()
            await self._more.wait()
        return self._orders[0]

    def sent(self) -> None:
        """Records that the order of `next` was carried."""
        self._bytes -= len(self._orders.popleft())
