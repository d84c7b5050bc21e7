"""What an asyncio vector environment does when shards fail, or when a call is cancelled at the last moment."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from envwire.client import SessionClosedError, aio
from envwire.client._recovery.async_handle import AsyncSessionHandle
from envwire.client._vector.async_shards import PendingSteps, all_of
from envwire.client._vector.vector_servers import VectorServers
from envwire.codec import envwire_family


class Shard:
    """A shard whose step ends at once with its action, or raises it."""

    size = 1

    def __init__(self, start: int) -> None:
        self.spec = SimpleNamespace(start=start, stop=start + 1)

    async def step(self, action: Any) -> Any:
        if isinstance(action, Exception):
            raise action
        return action


async def pending(*actions: Any) -> PendingSteps:
    """Returns steps that have ended and were not received."""
    shards: Any = [Shard(start) for start in range(len(actions))]
    steps = PendingSteps(shards, len(actions), envwire_family())
    steps.begin(shards, actions)
    await asyncio.sleep(0)
    return steps


def test_results_that_are_there_are_received_even_if_the_call_is_cancelled() -> None:
    async def main() -> None:
        receiving = asyncio.ensure_future((await pending(1, 2)).first_finished())
        await asyncio.sleep(0)
        receiving.cancel()
        assert (await receiving)[1] == [1, 2]

    asyncio.run(main())


def test_the_first_of_several_errors_is_raised_and_no_other_is_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def main() -> None:
        steps = await pending(1, ValueError("first"), ValueError("second"))
        with pytest.raises(ValueError, match="first"):
            await steps.first_finished()

    asyncio.run(main())
    assert caplog.messages == []


def test_all_calls_end_before_the_first_error_is_raised() -> None:
    async def main() -> None:
        ended = asyncio.Event()

        async def fail() -> None:
            raise ValueError("at once")

        async def go_on() -> None:
            for _ in range(5):
                await asyncio.sleep(0)
            ended.set()

        with pytest.raises(ValueError, match="at once"):
            await all_of([fail(), go_on()])
        assert ended.is_set()

    asyncio.run(main())


def test_a_shard_whose_step_is_pending_is_sent_no_other() -> None:
    async def main() -> None:
        shards: Any = [Shard(0), Shard(1)]
        steps = PendingSteps(shards, 2, envwire_family())
        assert steps.chosen(None) == shards
        assert steps.chosen([1]) == shards[1:]
        steps.begin(shards[:1], [0])
        with pytest.raises(envwire_family().error.AlreadyPendingCallError):
            steps.chosen(None)
        assert steps.chosen([1]) == shards[1:]
        steps.begin(shards[1:], [1])
        await steps.first_finished()

    asyncio.run(main())


class Handle(AsyncSessionHandle):
    """A handle whose session is made or not; closing its environment raises."""

    def __init__(self, failure: Exception | None = None) -> None:
        self._failure = failure

    async def make_new(self) -> None:
        if self._failure is not None:
            raise self._failure

    async def close(self) -> None:
        raise ValueError("the environment does not close")


def test_why_a_session_was_not_made_is_told_even_if_another_does_not_close(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    handles = Handle(), Handle(RuntimeError("no room"))
    shards = [SimpleNamespace(handle=handle) for handle in handles]
    monkeypatch.setattr(VectorServers, "lay_out", lambda *_: [0, 1])
    monkeypatch.setattr(VectorServers, "shard", lambda _, spec, *__, **___: shards[spec])

    async def main() -> None:
        envs = aio.RemoteVectorEnv("localhost:1", "CartPole-v1", 2)
        for _ in range(2):
            with pytest.raises(RuntimeError, match="no room"):
                await envs.reset()

    asyncio.run(main())


class Frames(AsyncSessionHandle):
    """A handle whose session is there, and whose environments show frames."""

    vacant = False

    def __init__(self, *frames: str) -> None:
        self._frames = list(frames)
        self.closed = False

    async def serve(self, _: Any) -> Any:
        return self._frames

    async def close(self) -> None:
        self.closed = True


def test_environments_of_an_open_vector_show_their_frames_in_order() -> None:
    handles = Frames("a", "b"), Frames("c")
    shards: Any = [SimpleNamespace(handle=handle, size=2) for handle in handles]

    async def main() -> None:
        envs = aio.RemoteVectorEnv("localhost:1", "CartPole-v1", 3)
        envs._shards = shards
        with pytest.raises(SessionClosedError):
            await envs.render()
        async with envs:
            assert await envs.render() == ("a", "b", "c")
        assert all(handle.closed for handle in handles)

    asyncio.run(main())
