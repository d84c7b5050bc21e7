"""One thread at a time calls a vector environment: another one gets an error, and its request is not sent."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from envwire.client._vector.async_calls import AsyncCalls
from envwire.codec import envwire_family

FAMILY = envwire_family()
RESULT = ("observations", "rewards", "terminations", "truncations", {})


class Calls(AsyncCalls):
    """Calls over one shard."""

    _family = FAMILY
    _batch_shards = 1

    def __init__(self, pool: Any, gatherer: Any = None) -> None:
        self._pool, self._gatherer = pool, gatherer
        self._bounds = [(0, 2)]
        self._cut = lambda actions, *_: [actions]


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
            calls.reset_async,
            calls.step_wait,
            calls.reset_wait,
            calls._idle,
        ):
            with pytest.raises(FAMILY.error.AlreadyPendingCallError, match="_wait is pending"):
                call()
        return RESULT

    pool: Any = SimpleNamespace(shards=[shard], make_missing=list, check_live=lambda _: None)
    gatherer: Any = SimpleNamespace(gather=gather)
    calls = Calls(pool, gatherer)
    calls.reset_async()
    assert calls.reset_wait() == ("observations", {})
    calls.step_async([0, 1])
    assert calls.step_wait() == RESULT
    assert shard.sent == 2


def test_a_call_of_another_thread_while_requests_are_sent_is_an_error() -> None:
    def call_again(*_: Any) -> None:
        with pytest.raises(FAMILY.error.AlreadyPendingCallError, match="reset_async is pending"):
            calls.reset_async()

    shard: Any = Shard()
    pool: Any = SimpleNamespace(shards=[shard], make_missing=call_again)
    calls = Calls(pool)
    calls.reset_async()
    assert shard.sent == 1
