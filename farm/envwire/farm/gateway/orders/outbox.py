"""Queue of orders to one server, bounded in number and bytes."""

from __future__ import annotations

import asyncio
from collections import deque

from envwire.farm.v1 import farm_pb2 as pb
from envwire.server._grammar import counted

#: Most orders that a server has not read yet. A thousand simultaneous allocations take one each, and one to commit.
MAX_ORDERS = 4096
MAX_BYTES = 256 * 1024


class UnansweredError(Exception):
    """A server did not answer an order; the message says why."""


class Outbox:
    """The orders that one registration has yet to send."""

    def __init__(self) -> None:
        self._orders: deque[bytes] = deque()
        self._bytes = 0
        self._more = asyncio.Event()

    def put(self, order: pb.RegisterResponse) -> None:
        """Adds an order.

        Raises:
            UnansweredError: The server has too many unread orders.
        """
        raw = order.SerializeToString()
        if len(self._orders) >= MAX_ORDERS or self._bytes + len(raw) > MAX_BYTES:
            raise UnansweredError(f"it left {counted(len(self._orders), 'order')} unread")
        self._orders.append(raw)
        self._bytes += len(raw)
        self._more.set()

    async def next(self) -> bytes:
        """Waits for the next order and returns it encoded; the caller calls `sent` once it is written."""
        while not self._orders:
            self._more.clear()
            await self._more.wait()
        return self._orders[0]

    def sent(self) -> None:
        """Records that the order returned by `next` was written."""
        self._bytes -= len(self._orders.popleft())
