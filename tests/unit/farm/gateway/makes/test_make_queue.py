"""A Make that finds no slot while others are in progress waits for their end; a full farm refuses at once."""

from __future__ import annotations

import asyncio

import pytest

from envwire.codec import FaultError, Reason
from envwire.farm.gateway.makes.make_queue import MakeQueue
from tests.unit.farm.gateway.registry.test_registry import POLE, Farm


def test_a_slot_that_counts_twice_until_its_make_is_answered_is_waited_for() -> None:
    async def run() -> None:
        farm = Farm()
        server = farm.add("a", slots=2)
        queue = MakeQueue(farm.registry, lambda: farm.now, 0, 0.0)
        assert await queue.claim(POLE) is server
        farm.report(server, active=1)  # the session of a Make that was not answered yet
        second = asyncio.ensure_future(queue.claim(POLE))
        await asyncio.sleep(0)
        assert len(queue) == 1
        farm.registry.settle(server, made=True)
        farm.report(server, active=1)
        assert await second is server

    asyncio.run(run())


def test_it_is_refused_once_the_others_have_taken_all_slots() -> None:
    async def run() -> None:
        farm = Farm()
        server = farm.add("a", slots=1)
        queue = MakeQueue(farm.registry, lambda: farm.now, 0, 0.0)
        assert await queue.claim(POLE) is server
        late = [asyncio.ensure_future(queue.claim(POLE)) for _ in range(2)]
        await asyncio.sleep(0)
        assert len(queue) == 2
        farm.registry.settle(server, made=True)
        farm.report(server, active=1)
        told = await asyncio.gather(*late, return_exceptions=True)
        assert [type(each) for each in told] == [FaultError] * 2

    asyncio.run(run())


@pytest.mark.parametrize(
    ("length", "seconds", "advice"),
    [
        (0, 0.0, "The operator adds servers, or lets Makes wait with --queue"),
        (8, 0.01, "Here 8 Makes may wait, 0.01 s at most (--queue, --queue-timeout)"),
    ],
)
def test_a_full_farm_refuses_and_advises_what_was_not_done(
    length: int, seconds: float, advice: str
) -> None:
    async def run() -> None:
        farm = Farm()
        server = farm.add("a", slots=2)
        queue = MakeQueue(farm.registry, lambda: farm.now, length, seconds)
        farm.report(server, active=2)
        with pytest.raises(FaultError) as caught:
            await queue.claim(POLE)
        assert caught.value.reason is Reason.CAPACITY_REACHED
        assert "none of the 2 slots on the 1 server hosting it is free" in str(caught.value)
        assert str(caught.value).endswith(advice)

    asyncio.run(run())


def test_a_make_before_the_first_server_waits_for_it() -> None:
    async def run() -> None:
        farm = Farm()
        queue = MakeQueue(farm.registry, lambda: farm.now, 1, 60.0)
        farm.now = 10.0  # long after the gateway's start
        waiting = asyncio.ensure_future(queue.claim(POLE))
        await asyncio.sleep(0)
        assert len(queue) == 1
        server = farm.add("a")
        assert await waiting is server

    asyncio.run(run())


def test_a_server_that_refused_a_make_is_asked_again_once_it_has_reported() -> None:
    """A Make that every server had refused waited to its end, however many slots became free."""

    async def run() -> None:
        farm = Farm()
        server = farm.add("a", slots=1)
        queue = MakeQueue(farm.registry, lambda: farm.now, 1, 60.0)
        assert await queue.claim(POLE) is server
        refused = {server: server.reported_at}  # it was full: by a Make of another gateway
        waiting = asyncio.ensure_future(queue.claim(POLE, refused))
        await asyncio.sleep(0)
        farm.registry.settle(server, made=False)
        await asyncio.sleep(0)
        assert not waiting.done(), "it has not reported since"
        farm.now += 1.0
        farm.report(server)
        assert await waiting is server

    asyncio.run(run())
