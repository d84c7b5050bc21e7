"""One thread at a time calls a vector environment: another one gets an error, and its request is not sent."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from envwire.client._vector.async_calls import AsyncCalls
from envwire.codec import envwire_family

FAMILY = envwire_family()
RESULT = ("observations", "rewards", "terminations", "truncations", {})


class Shard:
    """A shard that counts the requests sent to it."""

    spec = SimpleNamespace(start=0, stop=2)
    sent = 0

    def begin_reset(self, *_: Any) -> None:
        self.sent += 1

    def begin_step(self, _: Any) -> None:
        self.sent += 1


def test_a_call_of_another_thread_while_answers_are_awaited_is_an_error() -> None:
    shard: Any = Shard()

    def gather(_: Any) -> Any:
        """Does what another thread does while this one waits."""
        for call in (
            lambda: calls.step_async([0, 1]),
            lambda: calls.reset_async(None, None),
            calls.step_wait,
            calls.reset_wait,
            calls.idle,
        ):
            with pytest.raises(FAMILY.error.AlreadyPendingCallError, match="_wait is pending"):
                call()
        return RESULT

    pool: Any = SimpleNamespace(shards=[shard], make_missing=list, check_live=list)
    gatherer: Any = SimpleNamespace(gather=gather)
    calls = AsyncCalls(pool, 2, lambda actions, *_: [actions], gatherer, FAMILY)
    calls.reset_async(None, None)
    assert calls.reset_wait() == ("observations", {})
    calls.step_async([0, 1])
    assert calls.step_wait() == RESULT
    assert shard.sent == 2


def test_a_call_of_another_thread_while_requests_are_sent_is_an_error() -> None:
    def call_again(*_: Any) -> None:
        with pytest.raises(FAMILY.error.AlreadyPendingCallError, match="reset_async is pending"):
            calls.reset_async(None, None)

    shard: Any = Shard()
    pool: Any = SimpleNamespace(shards=[shard], make_missing=call_again)
    unused: Any = None
    calls = AsyncCalls(pool, 2, unused, unused, FAMILY)
    calls.reset_async(None, None)
    assert shard.sent == 1
