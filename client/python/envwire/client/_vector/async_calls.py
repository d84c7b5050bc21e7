"""Asynchronous calls of a vector environment: sends requests to its shards, and waits for the answers later.

In between, the sessions work at the same time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from envwire.client._vector.batches import Bounds, cut_options, cut_seeds
from envwire.client._vector.env_info import VectorAttributes
from envwire.client._vector.gathering import first_finished
from envwire.client._vector.infos import Infos
from envwire.client._vector.shards import (
    Shard,
    StepResult,
    compact_bounds,
    env_ids,
    shards_of,
    too_few,
)
from envwire.client._vector.vector_servers import ShardPool


class AsyncCalls(VectorAttributes[Shard]):
    """The part of a vector proxy that resets and steps its environments."""

    #: Whether the environments are closed, or not made yet.
    closed = True
    _pool: ShardPool
    #: Number of shards that `recv` waits for.
    _batch_shards: int
    #: The shards with an unanswered request, the earliest first.
    _sent: Sequence[Shard] = ()
    #: The shards that `recv` returned last.
    _received: Sequence[Shard] = ()
    #: The call that awaits its counterpart or its answers, such as "step_async"; "" if none does.
    _pending = ""

    def reset_async(self, *, seed: Any = None, options: Any = None) -> None:
        """Sends a reset; `reset_wait` or `recv` returns its result. Arguments are those of `reset`."""
        self._claim("reset_async", self._begin_reset, seed, options)

    def _begin_reset(self, seed: Any, options: Any) -> None:
        seeds = cut_seeds(seed, self._bounds)
        own_options = cut_options(options, self._bounds)
        self._pool.make_missing()
        self.closed = False
        for shard, own_seed, own in zip(self._pool.shards, seeds, own_options, strict=True):
            shard.begin_reset(own_seed, own)
        self._sent = self._pool.shards

    def reset_wait(self) -> tuple[Any, Infos]:
        """Waits for the reset that `reset_async` sent, and returns its result like `reset`."""
        observations, *_, infos = self._gather_all("reset_wait", after="reset_async")
        return observations, infos

    def step(self, actions: Any) -> StepResult:
        """Steps every environment (see `VectorEnv.step`)."""
        self.step_async(actions)
        return self.step_wait()

    def step_async(self, actions: Any) -> None:
        """Sends actions, one for each environment; `step_wait` returns the result."""
        self._claim("step_async", self._begin, self._pool.shards, self._bounds, actions)

    def step_wait(self) -> StepResult:
        """Waits for the step that `step_async` sent, and returns its result like `step`."""
        return self._gather_all("step_wait", after="step_async")

    def send(self, actions: Any, env_id: Any = None) -> None:
        """Sends actions to some of the environments; `recv` returns the results.

        Args:
            actions: One for each of these environments.
            env_id: The environments, whole sessions as `recv` returned them; by default those of the last `recv`.

        Raises:
            ValueError: They are not the environments of whole sessions, or the number of actions is not theirs.
        """
        if self._pending == "step_async":
            raise self._untimely("send")
        shards = self._received if env_id is None else shards_of(self._pool.shards, env_id)
        self._begin(shards, compact_bounds(shards), actions)
        self._pending = "send"

    def recv(self) -> StepResult:
        """Waits for the first `batch_size` environments that finish what was sent to them.

        Returns:
            The result of `step` for these environments; `infos["env_id"]` holds their indices, in order. After a reset,
            rewards and flags are zero.

        Raises:
            NoAsyncCallError: Fewer environments than a batch needs have a pending request.
        """
        if len(self._sent) < self._batch_shards:
            raise too_few(self._family)
        self._received = shards = first_finished(self._sent, self._batch_shards)
        self._sent = [shard for shard in self._sent if shard not in shards]
        self._pending = "send" if self._sent else ""
        result = self._gatherer.gather(shards)
        result[-1]["env_id"] = env_ids(shards)
        return result

    def _idle(self) -> list[Shard]:
        """Returns all shards, after checking that every request is answered.

        Raises:
            SessionClosedError: A session was lost, or the environments are closed.
            AlreadyPendingCallError: A request is unanswered.
        """
        self._pool.check_live(self.closed)
        if self._pending:
            raise self._untimely("this")
        return self._pool.live()

    def _claim(self, asked: str, begin: Callable[..., None], *arguments: Any) -> None:
        """Sends requests. The call counts as pending from here on, so that another thread sends no second ones."""
        if self._pending:
            raise self._untimely(asked)
        self._pending = asked
        try:
            begin(*arguments)
        except BaseException:
            self._pending = ""
            raise

    def _gather_all(self, asked: str, after: str) -> StepResult:
        """Waits for all shards, if the first half of the call is pending. This half counts as pending meanwhile."""
        if self._pending != after:
            raise self._untimely(asked)
        self._pending = asked
        try:
            return self._gatherer.gather(self._pool.shards)
        finally:
            self._sent, self._pending = (), ""

    def _begin(self, shards: Sequence[Shard], bounds: Bounds, actions: Any) -> None:
        """Sends actions to shards with the given bounds."""
        own_actions = self._cut(actions, bounds)
        self._pool.check_live(self.closed)
        if self._sent and any(shard in self._sent for shard in shards):
            raise self._untimely("send")
        for shard, own in zip(shards, own_actions, strict=True):
            shard.begin_step(own)
        self._sent = [*self._sent, *shards] if self._sent else shards

    def _untimely(self, asked: str) -> Exception:
        """Returns the error for a call in the wrong order."""
        errors = self._family.error
        kind = errors.AlreadyPendingCallError if self._pending else errors.NoAsyncCallError
        pending = f"{self._pending} is pending" if self._pending else "nothing is pending"
        error: Exception = kind(
            f"{asked} was called while {pending}; call each half once, in turn", asked
        )
        return error
