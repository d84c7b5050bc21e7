"""Makes of clients with a quota: the slot that a server keeps for one is given back, however it ends."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Coroutine
from typing import Any

import pytest

from envwire.codec import FaultError, Reason
from envwire.farm.gateway.allocation.relayed_slots import RelayedSlots
from envwire.farm.gateway.makes.make_queue import SETTLE_SECONDS, MakeQueue
from envwire.farm.gateway.makes.making import Maker
from envwire.farm.gateway.orders.registrations import Registration, Registrations
from envwire.farm.gateway.registry.quotas import Quotas
from envwire.farm.gateway.registry.states import Member
from envwire.farm.v1 import farm_pb2
from envwire.server._auth.client import Client
from envwire.server._front.counters import Tally
from envwire.v1 import environment_pb2 as pb
from tests.unit.farm.gateway.registry.test_registry import Farm

ALICE = Client("token alice", quota=4)
SLOT = b"a" * 16


class Scene:
    """A gateway with one server, which is asked to keep slots.

    Args:
        reported: Whether the server has reported.
        age: Seconds since the gateway's start.
    """

    def __init__(self, *, reported: bool = True, age: float = 60.0) -> None:
        self.farm = farm = Farm()
        self.member = farm.add("a", keeps_slots=True)
        if reported:
            self.report()
        self.registration, registrations = Registration(), Registrations()
        registrations.add(self.member, self.registration)
        self.quotas = Quotas(farm.registry.members, 0)
        began = iter([-age])
        queue = MakeQueue(farm.registry, lambda: next(began, 0.0), 0, 0.0)
        tally = Tally(lambda: 0.0)
        slots = RelayedSlots(lambda: farm.now)
        self.maker = Maker(farm.registry, queue, tally, self.quotas, registrations, slots)

    def make(self, send: Any) -> Coroutine[Any, Any, Any]:
        return self.maker.make(pb.MakeRequest(env_id="CartPole-v1"), send, ALICE, SLOT)

    def report(self, **slots: int) -> None:
        load = farm_pb2.ServerLoad(client_slots=farm_pb2.ClientSlots(slots=slots))
        self.farm.registry.report(self.member, load, self.farm.now)

    async def ordered(self) -> tuple[int, bytes]:
        raw = await self.registration.outbox.next()
        self.registration.outbox.sent()
        order = slot_order(raw)
        return order.action, order.reservation_id


def slot_order(raw: bytes) -> farm_pb2.SlotOrder:
    return farm_pb2.RegisterResponse.FromString(raw).slot_order


async def never(_: Member) -> None:
    raise AssertionError("no slot was kept")


RESERVE, RELEASE = farm_pb2.SlotOrder.ACTION_RESERVE, farm_pb2.SlotOrder.ACTION_RELEASE


@pytest.mark.parametrize("reported", [False, True])
def test_a_server_is_asked_before_its_first_report_too(reported: bool) -> None:
    async def run() -> None:
        scene = Scene(reported=reported)
        making = asyncio.ensure_future(scene.make(never))
        assert await asyncio.wait_for(scene.ordered(), 60.0) == (RESERVE, SLOT)
        making.cancel()
        await asyncio.wait({making})

    asyncio.run(run())


def test_a_new_gateway_learns_first_what_a_client_holds() -> None:
    """Restarting a gateway gave clients their quota once more, on the servers that registered first."""

    async def run() -> None:
        scene = Scene(reported=False, age=SETTLE_SECONDS - 0.05)
        making = asyncio.ensure_future(scene.make(never))
        await asyncio.sleep(0.0)
        scene.report(**{ALICE.name: 4})
        with pytest.raises(FaultError) as caught:
            await asyncio.wait_for(making, 60.0)
        assert caught.value.reason is Reason.CLIENT_LIMIT_REACHED

    asyncio.run(run())


def test_a_client_that_leaves_while_a_server_is_asked_leaves_no_slot_behind() -> None:
    async def run() -> None:
        scene = Scene()
        making = asyncio.ensure_future(scene.make(never))
        assert await scene.ordered() == (RESERVE, SLOT)
        making.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await making
        assert await asyncio.wait_for(scene.ordered(), 60.0) == (RELEASE, SLOT)
        assert scene.quotas.held(ALICE.name) == 0

    asyncio.run(run())


def test_a_server_whose_registration_ends_leaves_nothing_claimed() -> None:
    async def run() -> None:
        scene = Scene()
        making = asyncio.ensure_future(scene.make(never))
        await scene.ordered()
        scene.registration.end()
        with pytest.raises(FaultError) as caught:
            await making
        assert caught.value.reason is Reason.CAPACITY_REACHED
        assert scene.quotas.held(ALICE.name) == 0

    asyncio.run(run())


def test_a_make_that_fails_gives_its_slot_back() -> None:
    async def fail(_: Member) -> None:
        raise FaultError(Reason.INTERNAL, "it failed")

    async def run() -> None:
        scene = Scene()
        making = asyncio.ensure_future(scene.make(fail))
        await scene.ordered()
        answer = farm_pb2.SlotAnswer(reservation_id=SLOT, granted=True)
        scene.registration.take_answer(farm_pb2.RegisterRequest(slot_answer=answer))
        with pytest.raises(FaultError, match="it failed"):
            await making
        assert await asyncio.wait_for(scene.ordered(), 60.0) == (RELEASE, SLOT)
        assert scene.quotas.held(ALICE.name) == 0

    asyncio.run(run())
