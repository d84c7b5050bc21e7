"""Shards, the environments that share a session, and the mapping between environments and shards."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import Any, Generic, TypeVar

import numpy as np
import numpy.typing as npt

from envwire.client._drivers.coroutines import run
from envwire.client._recovery.session_handle import BaseSessionHandle, SessionHandle
from envwire.client._session.operations import Operation, Reset, Step
from envwire.client._vector.batches import Bounds, ResetOptions
from envwire.client._vector.shard_episodes import ShardEpisodes, StepResult
from envwire.client.errors import RemoteError
from envwire.codec import Family
from envwire.wire.frames import Area

H = TypeVar("H", bound=BaseSessionHandle[Any])


class BaseShard(Generic[H]):
    """The environments of one session.

    Args:
        episodes: Builds their requests and reads the answers.
        handle: The handle of their session.

    Attributes:
        episodes: Builds their requests and reads the answers.
        spec: The indices of the environments.
        size: Number of the environments; a plain attribute, because each step reads it.
        handle: The handle of their session.
    """

    #: The class of the handle.
    handle_class: type[Any]

    def __init__(self, episodes: ShardEpisodes, handle: H) -> None:
        self.episodes = episodes
        self.spec = episodes.spec
        self.size = episodes.spec.size
        self.handle = handle


class Shard(BaseShard[SessionHandle]):
    """The environments of one session; for its arguments and attributes see `BaseShard`."""

    handle_class = SessionHandle
    _operation: Operation[Any] = Reset()
    _failure: RemoteError | None = None

    def begin_step(self, actions: Any) -> None:
        """Sends a step.

        Raises:
            SessionClosedError: There is no session.
        """
        lost = self.handle.driver is None
        self._begin(run(self.episodes.restart()) if lost else Step(actions))

    def begin_reset(self, seed: Any, options: ResetOptions) -> None:
        """Sends a reset; in a new session, for all its environments."""
        self._begin(self.episodes.reset(seed, options))

    def _begin(self, operation: Operation[Any]) -> None:
        self._operation, self._failure = operation, None
        try:
            self.handle.begin(operation)
        except RemoteError as error:
            if not self.handle.is_loss(error):
                raise
            self._failure = error  # `finish` raises it, like a loss that it detects itself

    def await_reply(self) -> bool:
        """Waits until the request is answered, or the connection has broken (see `BlockingDriver.await_reply`)."""
        driver = self.handle.driver
        return self._failure is None and driver is not None and driver.await_reply()

    def finish(self) -> StepResult:
        """Waits for the result of the request; after a reset, rewards and flags are zero.

        Raises:
            RemoteError: The request failed. If the handle counts it as a loss, `recover` may still return the result.
            Exception: Any exception of an environment.
        """
        if self._failure is not None:
            raise self._failure
        return self.episodes.answered(self._operation, self.handle.finish())

    def recover(self, loss: RemoteError) -> StepResult:
        """Returns the result of the request after the session was lost.

        Raises:
            RemoteError: The session is not recovered.
        """
        return run(self.episodes.recovered(self._operation, loss))

    def set_buffer(self, buffer: Area) -> None:
        """Offers a buffer for the observations of the next answer (see `InPlace.set_buffer`)."""
        if (driver := self.handle.driver) is not None:
            driver.set_buffer(buffer)

    def fileno(self) -> int:
        """Returns a descriptor that is readable once `finish` need not wait; if negative, there is nothing to poll."""
        driver = self.handle.driver
        return -1 if driver is None or self._failure else driver.fileno()

    @property
    def timeout(self) -> float:
        """Timeout of a request, in seconds."""
        return self.handle.live().session.timeout


S = TypeVar("S", bound=BaseShard[Any])


def shards_of(shards: Sequence[S], env_id: Any) -> list[S]:
    """Returns the shards of some environments, in the given order.

    Raises:
        ValueError: They are not the environments of whole shards.
    """
    chosen: list[S] = []
    left = np.asarray(env_id).tolist()
    starts = {shard.spec.start: shard for shard in shards}
    while left:
        shard = starts.get(left[0])
        size = shard.size if shard is not None else 0
        if shard is None or left[:size] != list(range(shard.spec.start, shard.spec.stop)):
            raise ValueError(
                f"env_id {left} does not begin with all environments of a session, in order; give whole sessions, "
                "as recv gave them"
            )
        chosen.append(shard)
        left = left[size:]
    return chosen


def compact_bounds(shards: Sequence[BaseShard[Any]]) -> Bounds:
    """Returns the bounds of each shard in a batch that holds only these shards."""
    stops = list(accumulate([shard.size for shard in shards]))
    return list(zip([0, *stops], stops, strict=False))


def env_ids(shards: Sequence[BaseShard[Any]]) -> npt.NDArray[np.int64]:
    """Returns the indices of the environments of some shards."""
    return np.concatenate([np.arange(shard.spec.start, shard.spec.stop) for shard in shards])


def too_few(family: Family) -> Exception:
    """Returns the error for a `recv` while fewer shards than a batch needs have a pending request."""
    error: Exception = family.error.NoAsyncCallError(
        "recv was called while too few environments have anything to do; send actions first", "recv"
    )
    return error
