"""asyncio environments: results equal those of a blocking client, also after cancellations and lost connections."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import os
import signal
from collections.abc import Coroutine, Iterator
from typing import Any

import numpy as np
import pytest

from envwire.client import (
    InvalidRequestError,
    RemoteEnv,
    RemoteVectorEnv,
    RequestTimeoutError,
    SessionClosedError,
    SessionLostError,
    aio,
)
from envwire.envs.error import AlreadyPendingCallError, NoAsyncCallError
from envwire.server import Server
from envwire.testing.comparing import identical
from tests.conftest import HOSTED, ROOT
from tests.direct.detour import through
from tests.direct.hosted_frames import FRAMES
from tests.direct.relay import Cut, How, Relay
from tests.faults.scene import active, eventually, family_of, kill_sessions
from tests.faults.test_loss import start
from tests.hosted_envs import Fault
from tests.secured import GUARDS, Guard
from tests.tiers import cross, first

FAULTY = "tests/Faulty-v0"
TRANSPORTS = ("direct", "direct-tcp", "direct-unix", "stream", "unary")
TRANSPORT = pytest.mark.parametrize("transport", TRANSPORTS)


def go(main: Coroutine[Any, Any, Any]) -> Any:
    """Runs a test in an event loop, which it must not hold up for ever."""
    return asyncio.run(asyncio.wait_for(main, 60.0))


@pytest.fixture(scope="module")
def fragile() -> Iterator[Server]:
    with Server(
        [*HOSTED, FRAMES],
        imports=["tests.hosted_envs", "tests.direct.hosted_frames"],
        sys_path=(ROOT,),
        max_sessions=150,
        lease=5.0,
    ) as server:
        yield server


async def rollout(env: Any, steps: int, disturb: dict[int, Any] | None = None) -> list[Any]:
    env.action_space.seed(5)
    seen: list[Any] = [await env.reset(seed=5)]
    for step in range(steps):
        (disturb or {}).get(step, bool)()
        seen.append(await env.step(env.action_space.sample()))
        if seen[-1][2] or seen[-1][3]:
            seen.append(await env.reset())
    return seen


def blocking_rollout(env: Any, steps: int) -> list[Any]:
    env.action_space.seed(5)
    seen: list[Any] = [env.reset(seed=5)]
    for _ in range(steps):
        seen.append(env.step(env.action_space.sample()))
        if seen[-1][2] or seen[-1][3]:
            seen.append(env.reset())
    env.close()
    return seen


@pytest.mark.parametrize(
    ("transport", "env_id"), cross(TRANSPORTS, ["CartPole-v1", FRAMES, "tests/Awkward-v0"])
)
def test_it_answers_what_a_blocking_client_sees(
    fragile: Server, transport: str, env_id: str
) -> None:
    async def main() -> list[Any]:
        async with aio.RemoteEnv(fragile.target, env_id, transport=transport) as env:
            return await rollout(env, 40)

    expected = blocking_rollout(RemoteEnv(fragile.target, env_id), 40)
    seen = go(main())
    for each in (*seen, *expected):
        each[-1].pop("pid", None)
    assert str(seen) == str(expected)
    assert active(fragile.target) == 0


@pytest.mark.parametrize("name", GUARDS)
def test_behind_any_guard(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    guard: Guard = GUARDS[name]()
    guard.enter(monkeypatch)
    with Server(["CartPole-v1"], **guard.settings) as server:

        async def main(transport: str) -> list[Any]:
            env = await aio.RemoteEnv.make(server.target, "CartPole-v1", transport=transport)
            seen = await rollout(env, 20)
            await env.close()
            return seen

        expected = blocking_rollout(RemoteEnv(server.target, "CartPole-v1"), 20)
        for transport in ("direct", "stream"):
            assert identical(go(main(transport)), expected), transport


def test_all_that_an_environment_has(fragile: Server) -> None:
    async def main() -> None:
        env = aio.RemoteEnv(fragile.target, "CartPole-v1", render_mode="rgb_array")
        with pytest.raises(SessionClosedError):
            await env.step(0)
        await env.reset(seed=1)
        assert (await env.render()).shape == (400, 600, 3)
        assert env.spec.id == "CartPole-v1"
        assert await env.set_wrapper_attr("gravity", 3.0)
        assert await env.get_wrapper_attr("gravity") == 3.0
        with pytest.raises(AttributeError, match=r"await env\.set_wrapper_attr\('gravity'"):
            env.gravity = 4.0
        assert await env.has_wrapper_attr("length")
        with pytest.raises(AttributeError):
            await env.get_wrapper_attr("no_such_thing")
        await env.close()
        await env.close()
        with pytest.raises(SessionClosedError):
            await env.step(0)
        await env.reset(seed=1)
        await env.close()

    go(main())
    assert active(fragile.target) == 0


def test_many_environments_in_one_loop(fragile: Server) -> None:
    async def one(index: int) -> list[float]:
        env = await aio.RemoteEnv.make(fragile.target, FAULTY)
        await env.reset(seed=index)
        seen = [float((await env.step(0))[0][0]) for _ in range(20)]
        await env.close()
        return seen

    async def main() -> list[list[float]]:
        return await asyncio.gather(*(one(index) for index in range(12)))

    assert go(main()) == [[float(step) for step in range(1, 21)]] * 12
    assert active(fragile.target) == 0


@TRANSPORT
def test_a_cancelled_call_leaves_the_session_usable(fragile: Server, transport: str) -> None:
    """Cancelled at any point of a step: each step is taken once, and no answer is assigned to another request."""

    async def main() -> None:
        async with aio.RemoteEnv(fragile.target, FAULTY, transport=transport) as env:
            await env.reset(seed=1)
            taken = 0
            for turns in [0, 1, 2, 3, 5, 8, 13]:
                step = asyncio.ensure_future(env.step(0))
                for _ in range(turns):
                    await asyncio.sleep(0)
                began = not step.cancelled() and turns > 0
                step.cancel()
                result = (await asyncio.gather(step, return_exceptions=True))[0]
                taken += began or not isinstance(result, asyncio.CancelledError)
                taken += 1
                assert (await env.step(0))[4]["steps"] == taken

    go(main())


def test_a_long_step_that_is_cancelled_is_finished_first(fragile: Server) -> None:
    async def main() -> None:
        async with aio.RemoteEnv(fragile.target, FAULTY) as env:
            await env.reset(seed=1)
            with pytest.raises(asyncio.TimeoutError):
                await asyncio.wait_for(env.step(int(Fault.SLEEP)), 0.05)
            assert (await env.step(0))[4]["steps"] == 2

    go(main())


def test_the_generator_is_mirrored(fragile: Server) -> None:
    """Draws on both sides come from one generator, as they do for a blocking client."""

    async def main() -> list[Any]:
        async with aio.RemoteEnv(fragile.target, "FrozenLake-v1") as env:
            seen: list[Any] = [await env.reset(seed=3)]
            random = await env.get_np_random()
            for _ in range(20):
                seen += [random.integers(1000), await env.step(1)]
            env.set_np_random(np.random.default_rng(7))
            seen += [await env.step(1), (await env.get_np_random()).integers(1000)]
            return [*seen, await env.reset()]

    def expected() -> list[Any]:
        env = RemoteEnv(fragile.target, "FrozenLake-v1")
        seen: list[Any] = [env.reset(seed=3)]
        for _ in range(20):
            seen += [env.np_random.integers(1000), env.step(1)]
        env.np_random = np.random.default_rng(7)
        seen += [env.step(1), env.np_random.integers(1000), env.reset()]
        env.close()
        return seen

    assert identical(go(main()), expected())


@pytest.mark.parametrize("transport", first(["direct", "stream"]))
def test_many_steps_in_one_request(fragile: Server, transport: str) -> None:
    async def main() -> None:
        async with aio.RemoteEnv(fragile.target, FAULTY, transport=transport) as env:
            await env.reset(seed=1)
            taken = await env.step_many([0] * 5)
            assert [result[4]["steps"] for result in taken] == [1, 2, 3, 4, 5]
            with pytest.raises(ValueError, match="wheel") as raised:
                await env.step_many([0, 0, int(Fault.RAISE), 0])
            assert len(raised.value.steps_taken) == 2  # type: ignore[attr-defined]

    go(main())


@pytest.mark.parametrize("on_lost", ["raise", "replay"])
def test_states_and_forks(fragile: Server, on_lost: str) -> None:
    async def main() -> None:
        async with aio.RemoteEnv(fragile.target, "CartPole-v1", on_lost=on_lost) as env:
            await env.reset(seed=1)
            await env.step(1)
            twin = await env.fork()
            saved = None
            if on_lost == "replay":
                saved = await env.save_state()
            one = [await env.step(each) for each in (0, 1, 1)]
            assert identical(one, [await twin.step(each) for each in (0, 1, 1)])
            await twin.close()
            if saved is not None:
                await env.restore_state(saved)
                assert identical(one, [await env.step(each) for each in (0, 1, 1)])

    go(main())
    assert active(fragile.target) == 0


@pytest.mark.parametrize("transport", first(["direct", "stream"]))
def test_a_call_during_another_one_is_an_error(fragile: Server, transport: str) -> None:
    async def main() -> None:
        env = await aio.RemoteEnv.make(fragile.target, FAULTY, transport=transport)
        await env.reset(seed=1)
        calls: list[Any] = [env.step(0), env.step(0)]
        both: Any = await asyncio.gather(*calls, return_exceptions=True)
        assert both[0][4] == {"steps": 1}
        assert isinstance(both[1], AlreadyPendingCallError)
        step = asyncio.ensure_future(env.step(int(Fault.SLEEP)))
        await asyncio.sleep(0)
        for call in (env.reset, env.render, env.save_state, env.fork, env.get_np_random):
            with pytest.raises(AlreadyPendingCallError, match="another call"):
                await call()
        await env.close()  # waits for the step
        assert step.done()
        assert (await step)[4] == {"steps": 2}

    go(main())
    assert active(fragile.target) == 0


def test_a_call_of_a_vector_during_another_one_is_an_error(fragile: Server) -> None:
    """Nor does a step that was cancelled half way confuse the sessions."""
    zeros = np.zeros(4, np.int64)

    async def main() -> list[Any]:
        envs = await aio.RemoteVectorEnv.make(fragile.target, "FrozenLake-v1", 4, sessions=2)
        await envs.reset(seed=1)
        steps: list[Any] = [envs.step(zeros) for _ in range(3)]
        results = await asyncio.gather(*steps, return_exceptions=True)
        assert [type(each) for each in results[1:]] == [AlreadyPendingCallError] * 2
        for turns in range(12):
            step = asyncio.ensure_future(envs.step(zeros))
            for _ in range(turns):
                await asyncio.sleep(0)
            step.cancel()
            await asyncio.wait({step})
        seen = [await envs.reset(seed=3), await envs.step(zeros)]
        await envs.close()
        return seen

    twin = RemoteVectorEnv(fragile.target, "FrozenLake-v1", 4, sessions=2)
    expected = [twin.reset(seed=3), twin.step(zeros)]
    twin.close()
    assert identical(go(main()), expected)


def test_an_environment_goes_on_in_another_loop(fragile: Server) -> None:
    """In a second `asyncio.run`, but not in a loop that runs at the same time as its own."""
    for transport in ("direct", "stream"):
        env = aio.RemoteEnv(fragile.target, FAULTY, transport=transport)
        go(env.reset(seed=1))
        assert [go(env.step(0))[4]["steps"] for _ in range(3)] == [1, 2, 3]

        async def elsewhere(env: Any = env) -> None:
            await env.step(0)
            with pytest.raises(InvalidRequestError, match="another event loop"):
                await asyncio.to_thread(asyncio.run, env.step(0))
            assert (await env.step(0))[4] == {"steps": 5}

        go(elsewhere())
        go(env.close())
    assert active(fragile.target) == 0


@pytest.mark.parametrize("transport", first(["direct", "stream"]))
def test_a_loop_that_is_closed_during_a_step(fragile: Server, transport: str) -> None:
    """The step is taken once; the environment goes on in another loop, whenever the coroutine is collected."""
    loop = asyncio.new_event_loop()
    env = loop.run_until_complete(aio.RemoteEnv.make(fragile.target, FAULTY, transport=transport))
    loop.run_until_complete(env.reset(seed=1))
    step = env.step(0)
    task = loop.create_task(step)
    for _ in range(5):
        loop.run_until_complete(asyncio.sleep(0))
    loop.close()
    assert go(env.step(0))[4] == {"steps": 2}
    step.close()
    assert go(env.step(0))[4] == {"steps": 3}
    task._log_destroy_pending = False  # type: ignore[attr-defined]
    go(env.close())


def test_a_request_over_the_limit_is_refused_and_the_session_goes_on() -> None:
    async def main(target: str, transport: str) -> None:
        env = await aio.RemoteEnv.make(target, "CartPole-v1", transport=transport)
        await env.reset(seed=1)
        with pytest.raises(InvalidRequestError, match="too large") as refused:
            await env.reset(options={"x": bytes(3_000_000)})
        assert refused.value.reason == "MESSAGE_TOO_LARGE"
        await env.step(0)
        await env.close()

    with Server(["CartPole-v1"], max_message_bytes=2_000_000) as server:
        for transport in ("direct", "stream", "unary"):
            go(main(server.target, transport))


@pytest.mark.parametrize("transport", first(["direct", "stream"]))
def test_a_timeout_is_told_and_the_session_goes_on(fragile: Server, transport: str) -> None:
    async def main() -> None:
        env = await aio.RemoteEnv.make(fragile.target, FAULTY, transport=transport, timeout=0.4)
        await env.reset(seed=1)
        with pytest.raises(RequestTimeoutError):
            await env.step(int(Fault.SLEEP))
        assert (await once_it_answers(env))[4]["steps"] == 2
        await env.close()

    async def once_it_answers(env: Any) -> Any:
        """Takes a step as soon as the one before is done, for which a busy machine takes several timeouts."""
        while True:
            with contextlib.suppress(RequestTimeoutError):
                return await env.step(0)

    go(main())


def test_a_make_that_is_cancelled_leaves_no_session(fragile: Server) -> None:
    async def main() -> None:
        make = asyncio.ensure_future(aio.RemoteEnv.make(fragile.target, FAULTY))
        await asyncio.sleep(0.001)
        make.cancel()
        with pytest.raises(asyncio.CancelledError):
            await make
        for _ in range(200):
            await asyncio.sleep(0.05)
            if await asyncio.to_thread(active, fragile.target) == 0:
                return
        pytest.fail("the session is there still")

    go(main())


@pytest.mark.parametrize("transport", first(["direct-unix", "stream", "direct-tcp", "unary"], 2))
def test_killed_sessions_are_not_noticed_when_they_are_replayed(
    fragile: Server, transport: str
) -> None:
    kill = {step: lambda: kill_sessions(fragile) for step in (0, 21, 22, 59)}

    async def main() -> list[Any]:
        env = await aio.RemoteEnv.make(
            fragile.target, "FrozenLake-v1", transport=transport, on_lost="replay"
        )
        seen = await rollout(env, 60, kill)
        assert env.connection_stats[1:] == (4, 4)
        await env.close()
        return seen

    assert identical(go(main()), blocking_rollout(RemoteEnv(fragile.target, "FrozenLake-v1"), 60))


def test_other_strategies(fragile: Server) -> None:
    async def main() -> None:
        env = await aio.RemoteEnv.make(fragile.target, "CartPole-v1", on_lost="truncate")
        await env.reset(seed=1)
        await env.step(0)
        kill_sessions(fragile)
        assert (await env.step(0))[4]["lost"]
        await env.close()
        env = await aio.RemoteEnv.make(fragile.target, "CartPole-v1")
        await env.reset(seed=1)
        kill_sessions(fragile)
        with pytest.raises(SessionLostError):
            await env.step(0)
        await env.reset(seed=1)
        await env.close()

    go(main())


def test_a_stopped_server_is_left_for_another_one(
    fragile: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("envwire.client._drivers.failure_detection.LATE_SECONDS", 0.2)
    monkeypatch.setattr("envwire.client._drivers.failure_detection.PROBE_SECONDS", 0.3)
    doomed = start().start()
    stopped = family_of(doomed.pid)

    async def main() -> None:
        targets = [doomed.target, fragile.target]
        env = await aio.RemoteEnv.make(targets, FAULTY, on_lost="replay", anonymous=True)
        await env.reset(seed=1)
        assert (await env.step(int(Fault.SLEEP)))[4] == {"steps": 1}
        assert env.connection_stats == (0, 0, 0)
        for pid in family_of(doomed.pid):
            os.kill(pid, signal.SIGSTOP)
        assert (await env.step(0))[4] == {"steps": 2}
        assert env.connection_stats == (0, 1, 1)
        await env.close()

    try:
        go(main())
    finally:
        for pid in stopped | family_of(doomed.pid):
            os.kill(pid, signal.SIGCONT)
        doomed.stop()


@pytest.mark.parametrize("how", [How.RESET, How.HALF_CLOSE])
def test_connections_that_break_are_not_noticed(fragile: Server, how: How) -> None:
    relay = Relay(
        [Cut(upwards, after, how) for upwards, after in ((False, 90_000), (True, 150), (False, 20))]
    )

    async def main() -> list[Any]:
        env = await aio.RemoteEnv.make(
            None, FRAMES, transport=through(relay, fragile.target), lease=30.0, shape=(100, 300)
        )
        seen = [np.array((await env.reset(seed=5))[0])]
        for step in range(12):
            result = await env.step(step % 4)
            seen.append((np.array(result[0]), *result[1:]))  # type: ignore[arg-type]
        assert env.connection_stats.resumed > 0
        await env.close()
        return seen

    from tests.direct.test_resuming import expected

    assert identical(go(main()), expected(12, shape=(100, 300)))
    relay.close()


@pytest.mark.parametrize(("sessions", "on_lost"), cross([2, 1], ["raise", "replay"]))
def test_vectors(fragile: Server, sessions: int, on_lost: str) -> None:
    actions = np.random.default_rng(1).integers(2, size=(40, 6))

    async def main() -> list[Any]:
        envs = await aio.RemoteVectorEnv.make(
            fragile.target, "CartPole-v1", 6, sessions=sessions, on_lost=on_lost
        )
        seen: list[Any] = [await envs.reset(seed=3)]
        for turn, each in enumerate(actions):
            if on_lost == "replay" and turn == 20:
                kill_sessions(fragile)
            seen.append(await envs.step(each))
        seen += [await envs.call("gravity"), await envs.reset(seed=[1, 2, 3, 4, 5, 6])]
        await envs.close()
        return seen

    twin = RemoteVectorEnv(fragile.target, "CartPole-v1", 6, sessions=sessions)
    expected: list[Any] = [twin.reset(seed=3), *map(twin.step, actions), twin.call("gravity")]
    expected.append(twin.reset(seed=[1, 2, 3, 4, 5, 6]))
    twin.close()
    assert identical(go(main()), expected)
    assert active(fragile.target) == 0


@pytest.mark.parametrize("on_lost", ["raise", "truncate", "replay"])
def test_a_vector_that_is_closed_makes_nothing_but_in_a_reset(
    fragile: Server, on_lost: str
) -> None:
    actions = np.zeros(2, np.int64)

    async def refused(envs: aio.RemoteVectorEnv) -> None:
        for call in (
            envs.step(actions),
            envs.send(actions, [0, 1]),
            envs.call("gravity"),
            envs.set_attr("gravity", [1.0, 2.0]),
        ):
            with pytest.raises(SessionClosedError, match="reset"):
                await call
        with pytest.raises(NoAsyncCallError):
            await envs.recv()
        assert active(fragile.target) == 0

    async def main() -> None:
        envs = aio.RemoteVectorEnv(fragile.target, "CartPole-v1", 2, on_lost=on_lost)
        await refused(envs)
        for _ in range(2):
            async with envs:
                await envs.reset(seed=1)
                await envs.step(actions)
            await refused(envs)

    go(main())


def test_vectors_that_cannot_be_made_leave_nothing(fragile: Server) -> None:
    async def main() -> None:
        with pytest.raises(RuntimeError, match="no simulator"):
            await aio.RemoteVectorEnv.make(fragile.target, FAULTY, 4, raise_on_make=True)

    go(main())
    assert active(fragile.target) == 0


@pytest.mark.parametrize("mode", ["NEXT_STEP", "SAME_STEP"])
def test_episodes_of_a_lost_shard_are_truncated(fragile: Server, mode: str) -> None:
    """As those of a blocking vector environment; the next episodes begin by themselves."""
    zeros = np.zeros(4, np.int64)
    settings: dict[str, Any] = {"sessions": 2, "on_lost": "truncate", "autoreset_mode": mode}

    def shown(step: Any) -> Any:
        rewards, terminations, truncations, infos = step[1:]
        return rewards, terminations, truncations, sorted(infos), infos.get("lost")

    async def main() -> list[Any]:
        envs = await aio.RemoteVectorEnv.make(fragile.target, "FrozenLake-v1", 4, **settings)
        await envs.reset(seed=1)
        seen = [await envs.step(zeros)]
        kill_sessions(fragile)
        seen += [await envs.step(zeros), await envs.step(zeros)]
        assert envs.connection_stats[1:] == (2, 0)
        await envs.close()
        return seen

    twin = RemoteVectorEnv(fragile.target, "FrozenLake-v1", 4, **settings)
    twin.reset(seed=1)
    expected = [twin.step(zeros)]
    kill_sessions(fragile)
    expected += [twin.step(zeros), twin.step(zeros)]
    twin.close()
    seen = go(main())
    assert seen[1][3].all()
    assert identical([*map(shown, seen)], [*map(shown, expected)])


def test_environments_that_finish_are_received_first(fragile: Server) -> None:
    actions = np.random.default_rng(1).integers(4, size=(30, 6))

    async def main() -> None:
        envs = await aio.RemoteVectorEnv.make(
            fragile.target, "FrozenLake-v1", 6, sessions=3, batch_size=2
        )
        with pytest.raises(NoAsyncCallError):
            await envs.recv()
        await envs.reset(seed=1)
        alone = await aio.RemoteVectorEnv.make(fragile.target, "FrozenLake-v1", 6, sessions=1)
        await alone.reset(seed=1)
        expected = [await alone.step(each) for each in actions]
        await envs.send(actions[0])
        taken = dict.fromkeys(range(6), 0)
        for _ in range(3 * len(actions)):
            for call in (envs.step(actions[0]), envs.reset(), envs.call("spec")):
                with pytest.raises(AlreadyPendingCallError, match="send is pending"):
                    await call
            waiting = asyncio.ensure_future(envs.recv())
            await asyncio.sleep(0)
            waiting.cancel()  # what was sent goes on
            await asyncio.wait({waiting})
            observations, rewards, *_, infos = (
                await envs.recv() if waiting.cancelled() else waiting.result()
            )
            ids = infos["env_id"]
            assert len(ids) == 2
            turn = taken[int(ids[0])]
            assert identical(observations, expected[turn][0][ids])
            assert identical(rewards, expected[turn][1][ids])
            for each in ids:
                taken[int(each)] += 1
            if turn + 1 < len(actions):
                await envs.send(actions[turn + 1][ids], ids)
        assert set(taken.values()) == {len(actions)}
        await envs.send(actions[0], range(6))
        with pytest.raises(ValueError, match="whole sessions"):
            await envs.send(actions[0][:1], [1])
        await envs.close()
        await alone.close()

    go(main())
    assert active(fragile.target) == 0


def test_attributes_of_each_environment(fragile: Server) -> None:
    async def main() -> None:
        async with aio.RemoteVectorEnv(fragile.target, "CartPole-v1", 4, sessions=2) as envs:
            await envs.reset(seed=1)
            await envs.set_attr("gravity", [1.0, 2.0, 3.0, 4.0])
            assert await envs.get_attr("gravity") == (1.0, 2.0, 3.0, 4.0)
            await envs.set_attr("gravity", 5.0)
            assert await envs.call("get_wrapper_attr", "gravity") == (5.0,) * 4
            with pytest.raises(ValueError, match="2 values"):
                await envs.set_attr("gravity", [1.0, 2.0])

    go(main())


def test_an_environment_that_is_dropped_leaves_the_loop_before_its_connection_is_closed(
    fragile: Server,
) -> None:
    # A loop goes on watching a number that it was not told of; the next socket with it would never wake anybody.
    async def watched() -> bool:
        envs = [aio.RemoteEnv(fragile.target, "CartPole-v1", transport="direct-tcp")]
        await envs[0].reset(seed=1)
        channel = envs[0]._handle.driver.blocking.transport._channel
        descriptor = channel.fileno()
        envs.clear()
        gc.collect()
        while channel.fileno() >= 0:  # it is closed in a thread
            await asyncio.sleep(0)
        return asyncio.get_running_loop().remove_reader(descriptor)

    assert not go(watched())


@pytest.fixture(scope="module")
def patient() -> Iterator[Server]:
    """A server whose leases outlast any test."""
    with Server(HOSTED, imports=["tests.hosted_envs"], sys_path=(ROOT,), lease=600.0) as server:
        yield server


async def at_once(call: Coroutine[Any, Any, Any]) -> None:
    """Cancels a call as soon as it has sent its request."""
    task = asyncio.ensure_future(call)
    await asyncio.sleep(0)
    task.cancel()
    await asyncio.wait({task})
    assert task.cancelled()


@pytest.mark.parametrize("transport", first(["direct", "stream", "unary"]))
def test_an_environment_that_is_dropped_after_a_cancelled_step_is_closed(
    patient: Server, transport: str
) -> None:
    async def dropped() -> None:
        env = aio.RemoteEnv(patient.target, "CartPole-v1", transport=transport)
        await env.reset(seed=1)
        await at_once(env.step(0))

    go(dropped())
    gc.collect()
    assert eventually(lambda: active(patient.target) == 0)


@pytest.mark.parametrize(("transport", "number"), cross(["direct", "stream", "unary"], [2, 1]))
def test_a_cancelled_close_goes_on_in_the_background(
    patient: Server, transport: str, number: int
) -> None:
    async def closed() -> None:
        for turns in (0, 3):
            envs = aio.RemoteVectorEnv(
                patient.target, "CartPole-v1", number, sessions=number, transport=transport
            )
            await envs.reset(seed=1)
            task = asyncio.ensure_future(envs.close())
            for _ in range(turns):
                await asyncio.sleep(0)
            task.cancel()
            await asyncio.wait({task})

    go(closed())
    gc.collect()  # those whose close was cancelled before it began
    assert eventually(lambda: active(patient.target) == 0)
