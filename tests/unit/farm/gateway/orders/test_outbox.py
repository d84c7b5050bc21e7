"""Orders that a server does not read: bounded in number and bytes."""

from __future__ import annotations

import asyncio

import pytest

from envwire.farm.gateway.orders.outbox import MAX_BYTES, MAX_ORDERS, Outbox, UnansweredError
from envwire.farm.v1 import farm_pb2 as pb


def order(text: str = "") -> pb.RegisterResponse:
    return pb.RegisterResponse(admin_order=pb.AdminOrder(principal=text))


def test_a_server_that_reads_nothing_gets_so_many_orders() -> None:
    outbox = Outbox()
    for _ in range(MAX_ORDERS):
        outbox.put(order())
    with pytest.raises(UnansweredError, match=f"{MAX_ORDERS} orders unread"):
        outbox.put(order())


def test_and_so_many_bytes() -> None:
    outbox = Outbox()
    outbox.put(order("x" * (MAX_BYTES - 100)))
    with pytest.raises(UnansweredError, match="1 order unread"):
        outbox.put(order("x" * 100))
    assert asyncio.run(outbox.next())
    outbox.sent()
    outbox.put(order("x" * (MAX_BYTES - 100)))


def test_orders_come_in_their_order() -> None:
    async def scene() -> list[str]:
        outbox, seen = Outbox(), list[str]()

        async def carry() -> None:
            while len(seen) < 3:
                raw = await outbox.next()
                outbox.sent()
                seen.append(pb.RegisterResponse.FromString(raw).admin_order.principal)

        carrying = asyncio.ensure_future(carry())
        for name in "abc":
            outbox.put(order(name))
            await asyncio.sleep(0)
        await carrying
        return seen

    assert asyncio.run(asyncio.wait_for(scene(), 60.0)) == ["a", "b", "c"]
