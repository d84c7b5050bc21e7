"""A server that is about to stop is left before it does: at the next request, from where the environment is."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from envwire.client import RemoteEnv, RemoteVectorEnv, aio
from envwire.server import Server
from envwire.testing.comparing import identical
from tests.faults.scene import active, eventually
from tests.faults.test_loss import start
from tests.tiers import first

ENV, ENVS = "Pendulum-v1", "CartPole-v1"


def turns(step: int) -> Any:
    return np.arange(8) * step % 2


def ones(_: int) -> Any:
    return np.ones(4, np.int64)


def push(step: int) -> Any:
    return np.array([step % 3 - 1.0], np.float32)


@pytest.fixture(scope="module")
def another() -> Iterator[Server]:
    with start(max_sessions=20) as server:
        yield server


@pytest.fixture
def other(another: Server) -> Server:
    """Another, unused server."""
    assert eventually(lambda: active(another.target) == 0)
    return another


@pytest.fixture
def leaving() -> Iterator[Server]:
    """A server that is drained in the middle of a test; it would wait for its sessions for a minute."""
    with start(max_sessions=20, drain_timeout=60.0) as server:
        yield server


def drain(server: Server) -> None:
    os.kill(server.pid, signal.SIGTERM)


def left(server: Server) -> bool:
    """Returns whether the server has stopped, because no session is left."""
    try:
        os.kill(server.pid, 0)
        return active(server.target) == 0
    except Exception:
        return True


class Driven:
    """An environment that is driven until its server was left, and a twin that is driven as long."""

    def __init__(self, env: Any, twin: Any, actions: Any) -> None:
        self.env, self.twin = env, twin
        self.actions = actions
        self.seen: tuple[list[Any], list[Any]] = ([], [])
        self.longest = 0.0

    def reset(self, **kwargs: Any) -> None:
        for each, seen in zip((self.env, self.twin), self.seen, strict=True):
            seen.append(each.reset(**kwargs))

    def step(self) -> None:
        action = self.actions(len(self.seen[0]))
        begun = time.monotonic()
        self.seen[0].append(self.env.step(action))
        self.longest = max(self.longest, time.monotonic() - begun)
        self.seen[1].append(self.twin.step(action))

    def close(self) -> None:
        self.env.close()
        self.twin.close()


def play_until_left(all_driven: list[Driven], server: Server) -> None:
    """Drains a server in the middle of episodes that are played on it."""
    for each in all_driven:
        each.reset(seed=3)
        for _ in range(50):
            each.step()
    drain(server)
    for _ in range(2000):
        for each in all_driven:
            each.step()
        if left(server):
            return
        time.sleep(0.005)
    raise AssertionError("it was not left")


def test_an_environment_leaves_in_the_middle_of_an_episode(leaving: Server, other: Server) -> None:
    targets = [leaving.target, other.target]
    all_driven = [
        Driven(
            RemoteEnv(targets, ENV, on_lost="replay", transport=transport),
            RemoteEnv(other.target, ENV),
            push,
        )
        for transport in ("direct", "direct-tcp", "stream", "unary")
    ]
    play_until_left(all_driven, leaving)
    for each in all_driven:
        assert identical(*each.seen)
        assert each.env.connection_stats == (0, 0, 0)
        assert each.env.notices == ()
        each.close()


def test_shards_leave_in_the_middle_of_episodes(leaving: Server, other: Server) -> None:
    targets = [leaving.target, other.target]
    all_driven = [
        Driven(
            RemoteVectorEnv(targets, ENVS, 8, sessions=4, autoreset_mode=mode, on_lost="replay"),
            RemoteVectorEnv(other.target, ENVS, 8, sessions=4, autoreset_mode=mode),
            turns,
        )
        for mode in ("NEXT_STEP", "SAME_STEP")
    ]
    play_until_left(all_driven, leaving)
    assert active(other.target) == 16
    for each in all_driven:
        assert identical(*each.seen)
        assert each.env.connection_stats == (0, 0, 0)
        each.close()


def test_an_episode_is_not_cut_short_but_the_next_one_begins_elsewhere(
    leaving: Server, other: Server
) -> None:
    env = RemoteEnv([leaving.target, other.target], ENV, on_lost="truncate")
    twin = RemoteEnv(other.target, ENV)
    both = Driven(env, twin, push)
    both.reset(seed=3)
    drain(leaving)
    assert eventually(lambda: both.step() or active(other.target) == 2)
    for _ in range(3):
        both.step()
    assert active(leaving.target) == 1
    assert eventually(lambda: both.reset(seed=4) or left(leaving))
    both.step()
    assert identical(*both.seen)
    env.close()
    twin.close()


def test_truncating_shards_leave_when_all_are_reset(leaving: Server, other: Server) -> None:
    env = RemoteVectorEnv([leaving.target, other.target], ENVS, 4, sessions=2, on_lost="truncate")
    twin = RemoteVectorEnv(other.target, ENVS, 4, sessions=2)
    both = Driven(env, twin, ones)
    both.reset(seed=3)
    drain(leaving)
    assert eventually(lambda: both.step() or active(other.target) == 4)
    both.step()
    assert active(leaving.target) == 1
    assert eventually(lambda: both.reset(seed=4) or left(leaving))
    both.step()
    assert identical(*both.seen)
    env.close()
    twin.close()


@pytest.mark.parametrize("transport", first(["direct", "stream"]))
def test_asyncio_environments_leave_as_well(leaving: Server, other: Server, transport: str) -> None:
    async def drive() -> None:
        targets = [leaving.target, other.target]
        options: dict[str, Any] = {"on_lost": "replay", "transport": transport}
        env = await aio.RemoteEnv.make(targets, ENV, **options)
        envs = await aio.RemoteVectorEnv.make(targets, ENVS, 4, sessions=2, **options)
        twin = await aio.RemoteEnv.make(other.target, ENV)
        twins = await aio.RemoteVectorEnv.make(other.target, ENVS, 4, sessions=2)
        seen: tuple[list[Any], list[Any]] = ([], [])

        async def step(number: int) -> None:
            for shown, one, many in zip(seen, (env, twin), (envs, twins), strict=True):
                shown.append(await many.step(np.arange(4) * number % 2))
                shown.append(await one.step(push(number)))
                if shown[-1][2]:
                    shown.append(await one.reset())

        for shown, one, many in zip(seen, (env, twin), (envs, twins), strict=True):
            shown += [await one.reset(seed=3), await many.reset(seed=3)]
        for number in range(20):
            await step(number)
        drain(leaving)
        for number in range(2000):
            await step(number)
            if await asyncio.to_thread(left, leaving):
                break
        else:
            raise AssertionError("they were not left")
        assert identical(*seen)
        for each in (env, envs, twin, twins):
            assert each.connection_stats == (0, 0, 0)
            await each.close()

    asyncio.run(drive())
    assert left(leaving)


def test_it_stays_where_nobody_else_has_room(leaving: Server) -> None:
    with start(max_sessions=1) as small:
        env = RemoteEnv([leaving.target, small.target], ENV, on_lost="replay")
        twin = RemoteEnv(small.target, ENV)
        both = Driven(env, twin, push)
        both.reset(seed=3)
        drain(leaving)
        assert eventually(lambda: both.step() or bool(env.notices))
        for _ in range(30):
            both.step()
        assert identical(*both.seen)
        assert active(leaving.target) == 1
        twin.close()
        assert eventually(lambda: env.step(push(0)) and left(leaving))
        env.close()


def test_a_session_that_was_prepared_is_closed_with_the_environment(
    leaving: Server, other: Server
) -> None:
    env = RemoteEnv([leaving.target, other.target], ENV, on_lost="truncate")
    env.reset(seed=3)
    drain(leaving)
    assert eventually(lambda: env.step(push(0)) and active(other.target) == 1)
    env.close()
    assert eventually(lambda: active(other.target) == 0)
