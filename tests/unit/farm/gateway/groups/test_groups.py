"""What a group says and does: states, failures with pauses, Makes that wait and their reasons."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from envwire.codec import FaultError, Reason
from envwire.farm.gateway.groups.failures import BackOff, Failure, Kind
from envwire.farm.gateway.groups.group import GroupState
from envwire.farm.gateway.groups.group_calls import GroupCalls
from envwire.farm.gateway.groups.group_config import GroupConfig
from envwire.farm.gateway.groups.groups import Groups
from envwire.farm.gateway.makes.make_queue import MakeQueue
from envwire.farm.gateway.registry.placement import Requirements
from envwire.farm.gateway.registry.states import DEAD_SECONDS, Member
from envwire.farm.v1 import farm_pb2
from envwire.server._auth.client import Client
from envwire.server._front.makes.fair_queue import MAX_WAITING_BYTES
from envwire.server.config import ServerConfig
from tests.unit.farm.gateway.registry.test_registry import POLE, Farm

GONE = Failure(Kind.INTERPRETER, "there is no /opt/python")
CRASH = Failure(Kind.ENDED, "pole-1 ended by itself, with status 1")


class Scene:
    """A farm with one group, whose server takes two sessions."""

    def __init__(self, **settings: Any) -> None:
        self.farm = Farm()
        server = ServerConfig(["CartPole-v1"], max_sessions=2)
        config = GroupConfig(name="pole", engine="local", server=server, **settings)
        self.groups = Groups({"pole": config}, self.farm.registry)
        self.group = self.groups.named("pole")
        self.queue = MakeQueue(self.farm.registry, lambda: self.farm.now, 0, 0.0, self.groups)
        self.wanted = 0
        self.groups.on_want = self._want

    def _want(self) -> None:
        self.wanted += 1

    def add(self, name: str) -> Member:
        labels = {"group": "pole", "instance": name}
        member = self.farm.add(name, slots=2, labels=labels)
        self.groups.refresh(self.farm.now)
        return member

    def fail(self, failure: Failure) -> None:
        self.group.failed(failure, self.farm.now)
        self.groups.on_change()

    def make(self, client: str = "", size: int = 0) -> asyncio.Task[Member]:
        return asyncio.ensure_future(self.queue.claim(POLE, client=client, size=size))


def test_a_make_for_a_group_that_does_not_run_asks_for_a_server_and_waits_for_it() -> None:
    async def run() -> None:
        scene = Scene()
        making = scene.make()
        await asyncio.sleep(0)
        assert (scene.group.waiting, scene.wanted) == (1, 1)
        server = scene.add("a")
        assert await making is server
        assert scene.group.waiting == 0

    asyncio.run(run())


def test_a_make_is_told_what_it_waited_for() -> None:
    async def run() -> str:
        scene = Scene(wait=0.01)
        scene.group.observe(frozenset({"a"}), "installing packages", 10.0)
        scene.groups.found(["pole"])
        scene.groups.refresh(10.0)
        scene.farm.now = 50.0
        with pytest.raises(FaultError) as caught:
            await scene.make()
        assert caught.value.reason is Reason.CAPACITY_REACHED
        assert caught.value.retry_after == 1.0
        return str(caught.value)

    assert (
        "group 'pole': its first server is starting (installing packages), 40 s so far"
        in asyncio.run(run())
    )


def test_a_make_is_refused_before_its_client_stops_waiting() -> None:
    async def run() -> None:
        scene = Scene()
        with pytest.raises(FaultError, match="its first server is starting"):
            await scene.queue.claim(POLE, deadline=0.01)

    asyncio.run(asyncio.wait_for(run(), 60.0))


def test_waiting_makes_are_refused_when_the_group_cannot_start() -> None:
    async def run() -> None:
        scene = Scene()
        making = scene.make()
        await asyncio.sleep(0)
        scene.fail(GONE)
        with pytest.raises(FaultError, match="no interpreter: there is no /opt/python"):
            await making
        with pytest.raises(FaultError, match="the next attempt is in 1 s"):
            await scene.make()
        scene.farm.now = 2.0  # the pause is over: the next Make causes an attempt
        waiting = scene.make()
        await asyncio.sleep(0)
        assert scene.group.target(scene.farm.now).servers == 1
        waiting.cancel()

    asyncio.run(run())


def test_one_crash_is_no_reason_to_refuse_and_three_in_a_row_are() -> None:
    async def run() -> None:
        scene = Scene()
        making = scene.make()
        await asyncio.sleep(0)
        for now in (0.0, 1.0):
            scene.farm.now = now
            scene.fail(CRASH)
            assert not making.done()
        scene.farm.now = 3.0
        scene.fail(CRASH)
        with pytest.raises(FaultError, match="ended: pole-1 ended by itself"):
            await making

    asyncio.run(run())


def test_nothing_is_started_during_a_pause() -> None:
    scene = Scene(min=1)
    assert scene.group.target(0.0).servers == 1
    scene.fail(CRASH)
    assert scene.group.target(0.5).servers == 0
    assert scene.group.target(1.0).servers == 1


def test_a_paused_group_refuses_makes_and_a_resumed_one_serves_them() -> None:
    async def run() -> None:
        scene = Scene()
        calls, me = GroupCalls(scene.groups, lambda: scene.farm.now), Client()
        making = scene.make()
        await asyncio.sleep(0)
        pause = farm_pb2.PauseGroupRequest(group="pole", paused=True)
        answer = await calls.pause_group(pause.SerializeToString(), me)
        assert answer.group.state == GroupState.STATE_PAUSED
        with pytest.raises(FaultError, match="the operator paused it"):
            await making
        pause.paused = False
        await calls.pause_group(pause.SerializeToString(), me)
        waiting = scene.make()
        await asyncio.sleep(0)
        assert scene.group.waiting == 1
        waiting.cancel()

    asyncio.run(run())


def test_an_operator_sets_the_fewest_servers() -> None:
    async def run() -> None:
        scene = Scene(max=3)
        calls = GroupCalls(scene.groups, lambda: 0.0)
        scene.fail(GONE)
        ask = farm_pb2.ScaleGroupRequest(group="pole", count=2).SerializeToString()
        assert (await calls.scale_group(ask, Client())).group.min_servers == 2
        assert scene.group.target(0.0).servers == 2
        ask = farm_pb2.ScaleGroupRequest(group="pole", count=4).SerializeToString()
        with pytest.raises(FaultError, match=r"may have 3 servers \(max\), not 4"):
            await calls.scale_group(ask, Client())
        ask = farm_pb2.ScaleGroupRequest(group="polo").SerializeToString()
        with pytest.raises(FaultError, match="no group 'polo'; did you mean pole"):
            await calls.scale_group(ask, Client())

    asyncio.run(run())


def test_ids_of_unknown_groups_are_unknown() -> None:
    async def run() -> None:
        with pytest.raises(FaultError) as caught:
            await Scene().queue.claim(Requirements("CartPole-v2"))
        assert caught.value.reason is Reason.UNKNOWN_ENVIRONMENT
        assert "did you mean CartPole-v1?" in str(caught.value)

    asyncio.run(run())


def test_a_group_lists_what_it_declares_and_then_what_its_servers_have() -> None:
    scene = Scene()
    assert [(each.library, each.spec.id) for each in scene.groups.listings()] == [
        ("", "CartPole-v1")
    ]
    scene.add("a")
    assert [each.library for each in scene.groups.listings()] == ["envwire"]


def test_no_makes_go_to_a_server_that_is_about_to_stop() -> None:
    scene = Scene()
    member = scene.add("a")
    scene.group.leave(["a"])
    assert scene.farm.registry.claim(POLE, 0.0) is None
    scene.group.leave(["a"], leaving=False)
    assert scene.farm.registry.claim(POLE, 0.0) is member


def test_a_server_that_was_found_dead_is_stopped_and_replaced() -> None:
    scene = Scene(min=1)
    scene.group.observe(frozenset({"a"}), "", 0.0)
    assert scene.group.target(0.0) == (1, [])
    scene.add("a")
    assert scene.group.target(0.0) == (1, [])
    scene.farm.wait(DEAD_SECONDS + 1)  # it hangs
    now = scene.farm.now
    for each in list(scene.farm.registry.members):
        scene.farm.registry.probed(each, False, now)
    scene.groups.refresh(now)
    assert scene.group.target(now) == (1, ["a"])


def test_a_server_that_does_not_register_in_time_is_stopped_and_replaced() -> None:
    scene = Scene(min=1, start_timeout=30.0)
    scene.group.observe(frozenset({"a"}), "pulling image pole:3", 0.0)
    scene.group.observe(frozenset({"a"}), "pulling image pole:3", 100.0)
    scene.group.observe(frozenset({"a"}), "", 100.5)  # that takes as long as it takes
    assert scene.group.target(129.0) == (1, [])
    assert scene.group.overdue(131.0) == ["a"]
    assert scene.group.target(131.0) == (1, ["a"])


def test_only_groups_that_have_or_need_something_are_looked_after() -> None:
    scene = Scene()
    assert scene.groups.refresh(0.0) == []
    scene.groups.wake(scene.group)
    assert scene.groups.refresh(0.0) == []
    scene.group.observe(frozenset({"a"}), "", 0.0)
    scene.groups.found(["pole", "removed"])
    assert scene.groups.refresh(0.0) == [scene.group]
    scene.group.observe(frozenset(), "", 0.0)
    assert scene.groups.refresh(0.0) == []


def test_slots_that_may_come_are_told() -> None:
    scene = Scene(max=3)
    assert scene.groups.slots_to_come == 6
    scene.add("a")
    assert scene.groups.slots_to_come == 4
    scene.group.paused = True
    assert scene.groups.slots_to_come == 0


def test_states() -> None:
    scene = Scene()
    seen = [scene.group.status(0.0).state]
    scene.group.running = frozenset({"a"})
    seen.append(scene.group.status(0.0).state)
    scene.add("a")
    status = scene.group.status(0.0)
    seen.append(status.state)
    assert (status.servers, status.starting_servers, status.last_error) == (1, 0, "")
    scene.farm.registry.leave(next(iter(scene.farm.registry)), 0.0)
    scene.group.running = frozenset()
    scene.groups.refresh(0.0)
    scene.fail(CRASH)
    status = scene.group.status(0.5)
    seen.append(status.state)
    assert status.last_error == str(CRASH)
    assert seen == [
        GroupState.STATE_STOPPED,
        GroupState.STATE_STARTING,
        GroupState.STATE_SERVING,
        GroupState.STATE_FAILING,
    ]


def test_pauses_grow_with_failures_in_a_row() -> None:
    back_off = BackOff()
    pauses: list[float] = []
    now = 0.0
    for _ in range(8):
        back_off.failed(CRASH, now)
        back_off.failed(CRASH, now)  # one that was started together with it
        pauses.append(back_off.due - now)
        now = back_off.due
    assert pauses == [1, 2, 4, 8, 16, 32, 60, 60]
    back_off.serves(now, serves=True)  # a server that has just come may fail like the others
    back_off.serves(now + 1, serves=True)
    back_off.failed(CRASH, now + 1)
    assert back_off.fails(now + 1)
    back_off.serves(now + 60, serves=True)
    back_off.serves(now + 100, serves=True)
    back_off.failed(CRASH, now + 100)
    assert back_off.due == now + 101
    assert not back_off.fails(now + 100)


def test_waiting_makes_are_bounded_in_bytes() -> None:
    async def run() -> None:
        scene = Scene()
        half = MAX_WAITING_BYTES // 2
        waiting = [scene.make(size=half), scene.make(size=half)]
        await asyncio.sleep(0)
        with pytest.raises(FaultError, match="its first server is starting") as caught:
            await scene.make("another", size=1)
        assert caught.value.reason is Reason.CAPACITY_REACHED
        waiting[0].cancel()
        await asyncio.wait(waiting, timeout=0.1)
        waiting[0] = scene.make(size=half)
        await asyncio.sleep(0)
        assert scene.group.waiting == 2
        for each in waiting:
            each.cancel()
        await asyncio.wait(waiting)

    asyncio.run(run())
