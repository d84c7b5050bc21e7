"""Asynchronous calls of a vector environment: sends requests to its shards, and waits for the answers later.

In between, the sessions work at the same time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from envwire.client._vector.batching.batches import Bounds, Cut
from envwire.client._vector.batching.gathering import Gatherer
from envwire.client._vector.batching.infos import Infos
from envwire.client._vector.batching.resets import cut_options, cut_seeds
from envwire.client._vector.shard_episodes import StepResult
from envwire.client._vector.shard_pool import ShardPool
from envwire.client._vector.shard_selection import compact_bounds, env_ids, shards_of
from envwire.client._vector.shards import Shard
from envwire.client._vector.waiting import first_finished
from envwire.codec import Family


class AsyncCalls:
    """The asynchronous calls of `VectorProxy`, whose methods of the same names document them.

    Args:
        pool: The shards.
        batch_size: Number of environments that `recv` waits for.
        cut: Splits a batch of actions.
        gatherer: Waits for the results of shards and joins them.
        family: The library whose errors are raised.

    Attributes:
        bounds: Start and stop of each shard's environments.
    """

    def __init__(
        self, pool: ShardPool, batch_size: int, cut: Cut, gatherer: Gatherer, family: Family
    ) -> None:
        self.bounds: Bounds = [(shard.spec.start, shard.spec.stop) for shard in pool.shards]
        self._pool = pool
        self._shards = pool.shards
        self._num_envs = self.bounds[-1][1]
        self._batch_shards = len(self._shards) * batch_size // self._num_envs
        self._cut = cut
        self._gatherer = gatherer
        self._error = family.error
        #: The shards with an unanswered request, the earliest first.
        self._sent: list[Shard] = []
        #: The shards that `recv` returned last.
        self._received: list[Shard] = []
        #: The call that awaits its counterpart or its answers, such as "step_async"; "" if none does.
        self._pending = ""

    def reset_async(self, seed: Any, options: Any) -> None:
        """Makes missing sessions again, then sends a reset."""
        self._claim("reset_async", partial(self._begin_reset, seed, options))

    def _begin_reset(self, seed: Any, options: Any) -> None:
        seeds = cut_seeds(seed, self._num_envs, self.bounds)
        own_options = cut_options(options, self._num_envs, self.bounds)
        self._pool.make_missing()
        for shard, own_seed, own in zip(self._shards, seeds, own_options, strict=True):
            shard.begin_reset(own_seed, own)
        self._sent = list(self._shards)

    def reset_wait(self) -> tuple[Any, Infos]:
        """Waits for a reset."""
        observations, *_, infos = self._gather_all("reset_wait", after="reset_async")
        return observations, infos

    def step_async(self, actions: Any) -> None:
        """Sends actions to all environments."""
        self._claim("step_async", partial(self._begin_step, actions))

    def _begin_step(self, actions: Any) -> None:
        self._begin(self._shards, self._cut(actions, self._num_envs, self.bounds))

    def step_wait(self) -> StepResult:
        """Waits for a step."""
        return self._gather_all("step_wait", after="step_async")

    def send(self, actions: Any, env_id: Any) -> None:
        """Sends actions to some of the environments."""
        if self._pending == "step_async":
            raise self._untimely("send")
        shards = self._received if env_id is None else shards_of(self._shards, env_id)
        bounds = compact_bounds(shards)
        self._begin(shards, self._cut(actions, bounds[-1][1] if bounds else 0, bounds))
        self._pending = "send"

    def recv(self) -> StepResult:
        """Waits for the first environments that finish."""
        if len(self._sent) < self._batch_shards:
            raise self._error.NoAsyncCallError(
                "recv was called while too few environments have anything to do; send actions first",
                "recv",
            )
        self._received = shards = first_finished(self._sent, self._batch_shards)
        self._sent = [shard for shard in self._sent if shard not in shards]
        self._pending = "send" if self._sent else ""
        result = self._gatherer.gather(shards)
        result[-1]["env_id"] = env_ids(shards)
        return result

    def idle(self) -> list[Shard]:
        """Returns all shards, after checking that every request is answered.

        Raises:
            SessionClosedError: A session was lost, or the environments are closed.
            AlreadyPendingCallError: A request is unanswered.
        """
        self._pool.check_live()
        if self._pending:
            raise self._untimely("this")
        return self._pool.live()

    def clear(self) -> None:
        """Drops the unanswered requests, since the sessions are closed."""
        self._sent, self._pending = [], ""

    def _claim(self, asked: str, begin: Callable[[], None]) -> None:
        """Sends requests. The call counts as pending from here on, so that another thread sends no second ones."""
        if self._pending:
            raise self._untimely(asked)
        self._pending = asked
        try:
            begin()
        except BaseException:
            self._pending = ""
            raise

    def _gather_all(self, asked: str, after: str) -> StepResult:
        """Waits for all shards, if the first half of the call is pending. This half counts as pending meanwhile."""
        if self._pending != after:
            raise self._untimely(asked)
        self._pending = asked
        try:
            return self._gatherer.gather(self._shards)
        finally:
            self._sent, self._pending = [], ""

    def _begin(self, shards: Sequence[Shard], actions: Sequence[Any]) -> None:
        self._pool.check_live()
        if self._sent and any(shard in self._sent for shard in shards):
            raise self._untimely("send")
        for shard, own in zip(shards, actions, strict=True):
            shard.begin_step(own)
        self._sent += shards

    def _untimely(self, asked: str) -> Exception:
        """Returns the error for a call in the wrong order."""
        kind = (
            self._error.AlreadyPendingCallError if self._pending else self._error.NoAsyncCallError
        )
        pending = f"{self._pending} is pending" if self._pending else "nothing is pending"
        error: Exception = kind(
            f"{asked} was called while {pending}; call each half once, in turn", asked
        )
        return error
