"""Allocations of several servers through several gateways: all or none, none starves, nothing stays kept."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable

import pytest

from envwire.codec import FaultError
from envwire.farm.gateway.allocation.allocating import Allocator, Share
from envwire.farm.gateway.orders.outbox import UnansweredError
from envwire.farm.gateway.orders.registrations import Registration, Registrations
from envwire.farm.gateway.registry.placement import Requirements
from envwire.farm.gateway.registry.registry import Registry
from envwire.farm.gateway.registry.states import Member
from envwire.farm.v1 import farm_pb2
from envwire.server._front.sessions.slots import Reservations
from tests.unit.farm.gateway.registry.test_registry import hello

POLE = Requirements("CartPole-v1")
SLOTS = 4


class Node:
    """A server's slots, which gateways order about."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.silent = False
        self.reservations = Reservations(asyncio.get_running_loop().time)

    def obey(self, order: farm_pb2.SlotOrder) -> farm_pb2.SlotAnswer | None:
        action, name = order.action, order.reservation_id
        if action == order.ACTION_RESERVE:
            free = SLOTS - self.reservations.slots
            granted = self.reservations.reserve(name, order.count, 60.0, free)
            return farm_pb2.SlotAnswer(reservation_id=name, granted=granted)
        if action == order.ACTION_RELEASE:
            self.reservations.release(name)
        return None

    def load(self) -> farm_pb2.ServerLoad:
        return farm_pb2.ServerLoad(reserved_slots=self.reservations.slots)


class Gateway:
    """What allocates at the nodes."""

    def __init__(self, nodes: list[Node], waiting: int = 4) -> None:
        self._clock = asyncio.get_running_loop().time
        self.registry = Registry(self._clock())
        self._registrations = Registrations()
        self._allocator = Allocator(self.registry, self._registrations, self._clock, waiting, 20.0)
        self._nodes = {node.name: node for node in nodes}
        self._tasks = [asyncio.ensure_future(self._carry(node)) for node in nodes]

    async def _carry(self, node: Node) -> None:
        """Carries orders and reports between the gateway and a node, as a registration does."""
        said = hello(node.name, slots=SLOTS, keeps_slots=True)
        member = self.registry.register(said, f"{node.name}:1", self._clock())
        registration = Registration()
        self._registrations.add(member, registration)
        reporting = asyncio.ensure_future(self._report(member, node))
        try:
            while True:
                raw = await registration.outbox.next()
                registration.outbox.sent()
                order = farm_pb2.RegisterResponse.FromString(raw).slot_order
                await asyncio.sleep(random.uniform(0.0, 0.002))
                answer = None if node.silent else node.obey(order)
                if answer is not None:
                    registration.take_answer(farm_pb2.RegisterRequest(slot_answer=answer))
                self.registry.report(member, node.load(), self._clock())
        finally:
            reporting.cancel()

    async def _report(self, member: Member, node: Node) -> None:
        while True:
            self.registry.report(member, node.load(), self._clock())
            await asyncio.sleep(0.01)

    async def allocate(self, count: int, wait: float = 0.0) -> list[Share]:
        return await self._allocator.allocate(POLE, count, wait)

    def give_back(self, shares: list[Share]) -> None:
        for share in shares:
            self._nodes[share.member.hello.server_id].reservations.release(share.name)

    def reserved(self) -> int:
        """Returns the reports of the nodes."""
        return sum(member.reserved + member.pending for member in self.registry)

    def close(self) -> None:
        for task in self._tasks:
            task.cancel()


def run(scene: Callable[[list[Node], list[Gateway]], Awaitable[None]], waiting: int = 4) -> None:
    async def main() -> None:
        nodes = [Node(name) for name in "abcd"]
        gateways = [Gateway(nodes, waiting) for _ in range(2)]
        await asyncio.sleep(0)
        try:
            await asyncio.wait_for(scene(nodes, gateways), 60.0)
        finally:
            for gateway in gateways:
                gateway.close()

    random.seed(7)
    asyncio.run(main())


async def until(holds: Callable[[], bool]) -> None:
    """Waits for orders and reports that are under way."""
    while not holds():
        await asyncio.sleep(0.002)


def kept(nodes: list[Node]) -> int:
    return sum(node.reservations.slots for node in nodes)


def test_an_allocation_is_kept_by_the_servers() -> None:
    async def scene(nodes: list[Node], gateways: list[Gateway]) -> None:
        shares = await gateways[0].allocate(8)
        assert [node.reservations.slots for node in nodes] == [2, 2, 2, 2]
        assert all(share.name for share in shares)
        with pytest.raises(FaultError, match="has not 9 free slots"):
            await gateways[1].allocate(9)
        assert kept(nodes) == 8

    run(scene)


def test_two_gateways_at_once_promise_no_slot_twice() -> None:
    async def scene(nodes: list[Node], gateways: list[Gateway]) -> None:
        for _ in range(8):
            asking = (gateway.allocate(10) for gateway in gateways)
            told = await asyncio.gather(*asking, return_exceptions=True)
            granted = [each for each in told if isinstance(each, list)]
            assert all(isinstance(each, (list, FaultError)) for each in told)
            assert len(granted) == 1, "both, or none although there was room for one"
            await until(lambda: kept(nodes) == 10)
            gateways[0].give_back(granted[0])
            await until(lambda: not any(gateway.reserved() for gateway in gateways))

    run(scene)


def test_two_that_want_everything_take_turns() -> None:
    async def scene(nodes: list[Node], gateways: list[Gateway]) -> None:
        async def user(gateway: Gateway) -> None:
            for _ in range(5):
                shares = await gateway.allocate(4 * SLOTS, wait=20.0)
                assert sum(share.slots for share in shares) == kept(nodes) == 4 * SLOTS
                gateway.give_back(shares)

        await asyncio.gather(*(user(gateway) for gateway in gateways for _ in range(2)))
        await until(lambda: kept(nodes) == 0)

    run(scene)


def test_a_server_that_says_nothing_leaves_nothing_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("envwire.farm.gateway.orders.registrations._SLOT_SECONDS", 0.05)

    async def scene(nodes: list[Node], gateways: list[Gateway]) -> None:
        nodes[3].silent = True
        with pytest.raises(FaultError):
            await gateways[0].allocate(16)
        await until(lambda: kept(nodes) == 0)

    run(scene)


def test_only_so_many_wait() -> None:
    async def scene(nodes: list[Node], gateways: list[Gateway]) -> None:
        await gateways[0].allocate(16)
        waiting = asyncio.ensure_future(gateways[0].allocate(1, wait=5.0))
        await until(lambda: gateways[0]._allocator._waiting == 1)
        with pytest.raises(FaultError):
            await gateways[0].allocate(1, wait=5.0)
        assert not waiting.done()
        nodes[0].reservations.release(next(iter(nodes[0].reservations._kept)))
        assert len(await waiting) == 1

    run(scene, waiting=1)


def test_a_registration_that_ends_refuses() -> None:
    async def scene() -> None:
        registrations, registration = Registrations(), Registration()
        member = Member(hello("a", keeps_slots=True), "a:1", 0.0)
        registrations.add(member, registration)
        asked = asyncio.ensure_future(registration.reserve(b"n" * 16, 1, 1.0))
        await asyncio.sleep(0)
        registrations.remove(member, registration)
        with pytest.raises(UnansweredError):
            await asked
        assert registrations.for_slots(member) is None

    asyncio.run(asyncio.wait_for(scene(), 60.0))
