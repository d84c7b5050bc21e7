"""Steps that are sent before earlier ones are answered: none is lost or taken twice, whatever happens to them."""

from __future__ import annotations

import asyncio
import math
import os
import random
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import envwire.envs as gym
from envwire.client import InvalidRequestError, RemoteEnv, SessionLostError, aio
from envwire.server import Server
from envwire.testing.comparing import identical
from tests.commands import envwire
from tests.direct.detour import through
from tests.direct.hosted_frames import FRAMES
from tests.direct.relay import Cut, How, Relay
from tests.hosted_envs import Fault

LARGE = (20, 1000)
ACTIONS = [step % 4 for step in range(60)]
TRANSPORTS = ["direct-tcp", "direct-unix", "stream", "unary"]


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("envwire.client._session.resuming._FIRST_PAUSE", 0.001)
    monkeypatch.setattr("envwire.client._session.resuming._MAX_PAUSE", 0.02)


@pytest.fixture
def relayed(direct: Server) -> Iterator[Any]:
    made: list[tuple[RemoteEnv, Relay]] = []

    def make(*cuts: Cut, env_id: str = FRAMES, **kwargs: Any) -> tuple[RemoteEnv, Relay]:
        relay = Relay(cuts)
        env = RemoteEnv(None, env_id, transport=through(relay, direct.target), lease=30.0, **kwargs)
        made.append((env, relay))
        return env, relay

    yield make
    for env, relay in made:
        env.close()
        relay.close()


def copied(result: Any) -> Any:
    return (np.array(result[0]), *result[1:])


def expected(actions: list[int], **kwargs: Any) -> list[Any]:
    env = gym.make(FRAMES, **kwargs)
    env.reset(seed=5)
    return [copied(env.step(action)) for action in actions]


@pytest.mark.parametrize("kwargs", [{}, {"shape": LARGE}, {"uneven": True}, {"chatty": True}])
@pytest.mark.parametrize("transport", TRANSPORTS)
def test_the_results_are_those_of_single_steps(
    direct: Server, transport: str, kwargs: dict[str, Any]
) -> None:
    with RemoteEnv(direct.target, FRAMES, transport=transport, **kwargs) as env:
        env.reset(seed=5)
        first, second = env.step_ahead(ACTIONS[:10]), env.step_ahead(ACTIONS[10:])
        assert identical([*first, *second], expected(ACTIONS, **kwargs))
        assert list(first) == list(second) == []


def test_a_chunk_of_large_results_is_sent_at_once_and_not_cut(relayed: Any) -> None:
    """`step_many` asks again for what is beyond 1 MiB, a round trip later; these are 2.3 MiB."""
    picture = {"shape": (256, 256, 3)}
    env, relay = relayed(**picture)
    env.reset(seed=5)
    before = relay.passed[True]
    first = copied(env.step(ACTIONS[0]))
    one = relay.passed[True] - before
    results = env.step_ahead(ACTIONS[1:13])
    relay.wait(True, before + 13 * one - 1)
    assert env._handle.driver.in_flight == 12
    assert identical([first, *map(copied, results)], expected(ACTIONS[:13], **picture))
    assert relay.passed[True] - before < 14 * (one + 8), "no request but these"


def test_steps_are_sent_before_the_first_is_answered(relayed: Any) -> None:
    """The relay passes on all requests, while the environment is still in its first step."""
    env, relay = relayed(env_id="tests/Faulty-v0")
    env.reset()
    before = relay.passed[True]
    env.step(0)
    one = relay.passed[True] - before
    results = env.step_ahead([int(Fault.SLEEP), 0, 0])
    relay.wait(True, before + 4 * one - 1)
    assert env._handle.driver.in_flight == 3
    assert [result[4]["steps"] for result in results] == [2, 3, 4]


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_what_is_sent_behind_the_end_of_an_episode_is_not_taken(
    direct: Server, transport: str
) -> None:
    limit = [("TimeLimit", {"max_episode_steps": 10})]
    with RemoteEnv(direct.target, FRAMES, transport=transport, wrappers=limit) as env:
        for _ in range(3):
            env.reset(seed=5)
            chunks = [env.step_ahead(ACTIONS[begin : begin + 4]) for begin in range(0, 20, 4)]
            taken = [[copied(result) for result in chunk] for chunk in chunks]
            assert [len(each) for each in taken] == [4, 4, 2, 0, 0]
            results = [result[:2] for each in taken for result in each]
            assert identical(results, [result[:2] for result in expected(ACTIONS[:10])])
            assert taken[2][-1][3] is True, "the limit"
            assert env.get_wrapper_attr("_steps") == 10, "steps of the environment"


def test_nothing_is_taken_before_the_end_was_seen(direct: Server) -> None:
    """The client has received the end of the episode, and the program has not: it cannot know of it."""
    limit = [("TimeLimit", {"max_episode_steps": 3})]
    with RemoteEnv(direct.target, FRAMES, transport="direct-tcp", wrappers=limit) as env:
        env.reset(seed=5)
        first, second = env.step_ahead([0, 1]), env.step_ahead([2])
        assert [result[3] for result in env.step_ahead([3])] == []
        assert list(env.step_ahead([3])) == []
        assert [result[3] for result in (*first, *second)] == [False, False, True]
        assert next(env.step_ahead([3]))[1] == 43.0, "the program knows that the episode is over"


@pytest.mark.parametrize("transport", ["direct-tcp", "stream", "unary"])
def test_an_observation_has_an_age(direct: Server, transport: str) -> None:
    """It grows until the next one comes, and no observation is older than its request."""
    with RemoteEnv(direct.target, FRAMES, transport=transport) as env:
        env.reset(seed=5)
        begun = time.monotonic()
        running = env.step_ahead(ACTIONS[:4])
        assert math.isnan(running.age)
        for _ in running:
            age = running.age
            assert 0 <= age < time.monotonic() - begun
            assert running.age > age


def test_an_error_ends_the_steps_and_nothing_behind_it_is_taken(relayed: Any) -> None:
    env, _ = relayed(env_id="tests/Faulty-v0")
    env.reset()
    first, second = env.step_ahead([0, 0, int(Fault.RAISE), 0, 0]), env.step_ahead([0])
    assert [next(first)[4]["steps"], next(first)[4]["steps"]] == [1, 2]
    with pytest.raises(ValueError, match="the wheel fell off"):
        next(first)
    assert list(first) == list(second) == []
    taken = env.step(0)[4]["steps"]
    assert taken in {3, 4}, "the failed step may count, those behind it do not"


def test_an_action_that_cannot_be_sent_fails_in_its_turn(relayed: Any) -> None:
    env, _ = relayed()
    env.reset(seed=5)
    results = env.step_ahead([0, 1, object(), 2])
    assert identical([next(results), next(results)], expected([0, 1]))
    with pytest.raises(InvalidRequestError, match="object"):
        next(results)
    assert list(results) == []


def test_a_copy_takes_steps_of_its_own(direct: Server) -> None:
    with RemoteEnv(direct.target, FRAMES) as env:
        env.reset(seed=5)
        assert identical(
            [copied(one) for one in env.step_ahead(ACTIONS[:3])], expected(ACTIONS[:3])
        )
        with env.fork() as copy:
            taken = [copied(one) for one in copy.step_ahead(ACTIONS[3:6])]
            assert identical(taken, expected(ACTIONS[:6])[3:])
        assert identical(copied(env.step(ACTIONS[3])), expected(ACTIONS[:4])[3])


def test_other_calls_wait_for_the_steps_that_were_sent(relayed: Any) -> None:
    env, _ = relayed()
    env.reset(seed=5)
    results = env.step_ahead(ACTIONS[:6])
    assert identical(next(results), expected(ACTIONS[:1])[0])
    assert env.get_wrapper_attr("_steps") == 6
    assert identical(list(results), expected(ACTIONS[:6])[1:])
    dropped = env.step_ahead(ACTIONS)
    env.reset(seed=5)
    assert list(dropped) == []
    assert identical(list(env.step_ahead(ACTIONS[:6])), expected(ACTIONS[:6]))


def test_steps_whose_answers_are_too_large_to_keep_are_sent_again(
    direct: Server,
) -> None:
    """More than 16 MiB of answers, which the client has not received, are not kept."""
    kwargs: dict[str, Any] = {"shape": (3, 1000, 1000)}
    with RemoteEnv(direct.target, FRAMES, transport="direct-tcp", **kwargs) as env:
        env.reset(seed=5)
        got = list(env.step_ahead(ACTIONS[:20]))
    assert identical(got, expected(ACTIONS[:20], **kwargs))


@pytest.mark.parametrize("how", [How.RESET, How.HALF_CLOSE], ids=lambda how: how.value)
@pytest.mark.parametrize("shape", [(4,), LARGE], ids=["small", "large"])
def test_no_step_is_lost_or_taken_twice_when_connections_break(
    relayed: Any, shape: tuple[int, ...], how: How
) -> None:
    """Each of 20 connections is cut at a byte drawn at random, the first of them after the reset."""
    drawn = random.Random(f"{shape}{how}")
    most = 4000 if len(shape) == 1 else 200_000
    cuts = [
        Cut(up, drawn.randrange(160, 2000 if up else most), how)
        for up in (drawn.random() < 0.5 for _ in range(20))
    ]
    env, relay = relayed(*cuts, shape=shape)
    env.reset(seed=5)
    got: list[Any] = []
    while len(got) < 400:
        chunk = ACTIONS[: drawn.choice([1, 4, 40])]
        got += [copied(result) for result in env.step_ahead(chunk)]
        if drawn.random() < 0.3:
            got.append(copied(env.step(0)))
    actions = [int(result[1]) % 10 for result in got]
    assert identical(got, expected(actions, shape=shape))
    assert relay.taken > 5


def test_a_replay_holds_what_was_answered_and_the_rest_is_sent_again(direct: Server) -> None:
    env_id, quiet = "tests/Faulty-v0", {"anonymous": True, "on_lost": "replay"}
    with RemoteEnv(direct.target, env_id, transport="direct-tcp", **quiet) as env:
        env.reset(seed=5)
        pid = env.get_wrapper_attr("pid")
        results = env.step_ahead([0] * 100)
        got = [next(results)[4]["steps"] for _ in range(10)]
        os.kill(pid, signal.SIGKILL)
        got += [result[4]["steps"] for result in results]
        assert got == list(range(1, 101))
        assert env.connection_stats.recovered == 1
        assert env.get_wrapper_attr("pid") != pid
        os.kill(env.get_wrapper_attr("pid"), signal.SIGKILL)
        assert env.step(0)[4]["steps"] == 101, "the recording has no step that was not taken"


def test_a_lost_session_ends_the_steps(direct: Server) -> None:
    with RemoteEnv(direct.target, FRAMES, transport="direct-tcp") as env:
        pid = env.reset(seed=5)[1]["pid"]
        results = env.step_ahead(ACTIONS * 2)
        next(results)
        os.kill(pid, signal.SIGKILL)
        with pytest.raises(SessionLostError):
            list(results)
        assert list(results) == []
        env.reset(seed=5)
        assert identical(list(env.step_ahead(ACTIONS)), expected(ACTIONS))


ASYNC_TRANSPORTS = ["direct-tcp", "direct-unix", "stream"]


@pytest.mark.parametrize("kwargs", [{}, {"shape": LARGE}, {"uneven": True}], ids=str)
@pytest.mark.parametrize("transport", ASYNC_TRANSPORTS)
def test_in_an_event_loop_the_results_are_those_of_single_steps(
    direct: Server, transport: str, kwargs: dict[str, Any]
) -> None:
    async def play() -> list[Any]:
        async with aio.RemoteEnv(direct.target, FRAMES, transport=transport, **kwargs) as env:
            await env.reset(seed=5)
            first, second = env.step_ahead(ACTIONS[:10]), env.step_ahead(ACTIONS[10:40])
            got = [copied(result) async for result in first]
            got += [copied(result) async for result in second]
            third = env.step_ahead(ACTIONS[40:])
            got.append(copied(await anext(third)))
            assert await env.get_wrapper_attr("_steps") == (41 if transport == "stream" else 60)
            return got + [copied(result) async for result in third]

    assert identical(asyncio.run(play()), expected(ACTIONS, **kwargs))


def test_in_an_event_loop_a_chunk_is_sent_while_another_task_waits_for_results(
    relayed: Any, direct: Server
) -> None:
    async def play() -> list[int]:
        env_id, transport = "tests/Faulty-v0", "direct-tcp"
        async with aio.RemoteEnv(direct.target, env_id, transport=transport) as env:
            await env.reset()
            slow = env.step_ahead([int(Fault.SLEEP)])
            waiting = asyncio.ensure_future(anext(slow))
            await asyncio.sleep(0)
            behind = env.step_ahead([0, 0])
            assert env._handle.driver is not None
            assert env._handle.driver.in_flight == 3
            results = [await waiting, *[result async for result in behind]]
            return [result[4]["steps"] for result in results]

    assert asyncio.run(play()) == [1, 2, 3]


def test_in_an_event_loop_no_step_is_lost_or_taken_twice(direct: Server) -> None:
    """Connections break at bytes drawn at random, and waits are cancelled."""
    drawn = random.Random(8)
    cuts = [Cut(drawn.random() < 0.5, drawn.randrange(160, 3000)) for _ in range(20)]
    relay = Relay(cuts)

    async def play() -> list[Any]:
        transport = through(relay, direct.target)
        env = await aio.RemoteEnv(None, FRAMES, transport=transport, lease=30.0)
        await env.reset(seed=5)
        got: list[Any] = []
        while len(got) < 300:
            async for result in env.step_ahead(ACTIONS[: drawn.choice([1, 4, 40])]):
                got.append(copied(result))
        running = env.step_ahead(ACTIONS[:40])
        waiting = asyncio.ensure_future(anext(running))
        await asyncio.sleep(0)
        waiting.cancel()
        await asyncio.wait({waiting})
        got += [copied(result) async for result in running]
        await env.close()
        return got

    got = asyncio.run(play())
    relay.close()
    actions = [int(result[1]) % 10 for result in got]
    assert identical(got, expected(actions))
    assert relay.taken > 5


def test_a_recording_of_the_server_has_the_steps_that_were_taken(tmp_path: Path) -> None:
    with Server(["CartPole-v1"], record=str(tmp_path)) as server:
        with RemoteEnv(server.target, "CartPole-v1", transport="direct-tcp") as env:
            env.reset(seed=1)
            taken = len(list(env.step_ahead([1] * 30)))
            env.reset(seed=1)
        (file,) = tmp_path.iterdir()
    done = envwire("replay", file)
    assert f"{taken + 3} requests of CartPole-v1: all answers are the same" in done.stdout
