"""Shards: the environments that share a session, their episodes, and the mapping between environments and shards.

A shard builds its requests, reads the answers, and recovers a lost session. Blocking and asyncio vector environments
share its episodes.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from copy import deepcopy
from itertools import accumulate
from typing import Any, Generic, TypeVar

import numpy as np
import numpy.typing as npt

from envwire.client._drivers.coroutines import run
from envwire.client._recovery.session_handle import BaseSessionHandle, SessionHandle
from envwire.client._session.operations import Operation, Reset, Step
from envwire.client._vector.batches import Bounds, ResetOptions
from envwire.client._vector.infos import Infos
from envwire.client._vector.layout import ShardSpec
from envwire.client.errors import RemoteError, SessionClosedError
from envwire.codec import Family
from envwire.envs.type_guards import is_tuple_or_list
from envwire.envs.vector.vector_env import add_info
from envwire.wire.frames import Area

#: What `VectorEnv.step` returns.
StepResult = tuple[Any, npt.NDArray[Any], npt.NDArray[Any], npt.NDArray[Any], Infos]

#: Size of drawn seeds: every environment accepts such a seed and the numbers that follow it.
_SEED_BITS = 30


class ShardEpisodes:
    """The episodes of the environments of one shard.

    Args:
        spec: The indices of the environments.
        handle: The handle of their session.

    Attributes:
        spec: The indices of the environments.
    """

    def __init__(self, spec: ShardSpec, handle: BaseSessionHandle[Any]) -> None:
        self.spec = spec
        self._handle = handle
        #: `generation` of the handle at the last reset: with another one, the session is new.
        self._reset_generation: object = None

    def follow(self, autoreset: str, space: Any, family: Family) -> None:
        """Sets the attributes of the environments.

        Args:
            autoreset: Name of their autoreset mode.
            space: The space of one environment's observations.
            family: Classes to build values of.
        """
        self._autoreset, self._space, self._family = autoreset, space, family

    def reset(self, seed: Any, options: ResetOptions) -> Operation[Any]:
        """Returns the request for a reset; in a new session, for all its environments."""
        recording = self._handle.strategy.recording
        if recording is not None and not recording.rooted:
            seed = drawn_seeds(seed, self.spec.size)  # a replay needs known seeds
        is_new = self._reset_generation is not self._handle.generation
        self._reset_generation = self._handle.generation
        common, each = options.unmasked if is_new else options
        return Reset(seed, common, member_options=each)

    async def restart(self) -> Operation[Any]:
        """Returns the request to send instead of a step after the session was lost.

        Raises:
            SessionClosedError: There is no session; the caller has to reset.
        """
        raise SessionClosedError(
            f"the session of environments {self.spec.start} to {self.spec.stop - 1} was lost; reset() makes "
            "them again"
        )

    def answered(self, operation: Operation[Any], result: Any) -> StepResult:
        """Returns the result of an answer; after a reset, rewards and flags are zero."""
        if isinstance(operation, Step):
            step: StepResult = result[0]
            return step
        (observations, infos), size = result[0], self.spec.size
        flags = np.zeros(size, np.bool_), np.zeros(size, np.bool_)
        return observations, np.zeros(size), *flags, infos

    async def recovered(self, operation: Operation[Any], loss: RemoteError) -> StepResult:
        """Returns the result of a request during which the session was lost.

        Raises:
            RemoteError: The session is not recovered.
        """
        result = await self._handle.serve_again(operation, loss)
        return self.answered(operation, result)


class TruncatedEpisodes(ShardEpisodes):
    """Episodes that end when their session is lost; for arguments see `ShardEpisodes`."""

    _last: tuple[Any, npt.NDArray[Any]] | None = None

    async def restart(self) -> Operation[Any]:
        """Makes the environments again and starts their next episodes (see `ShardEpisodes.restart`)."""
        if self._autoreset == "DISABLED":
            return await super().restart()
        await self._handle.make_new()
        return self.reset(None, ResetOptions())

    def answered(self, operation: Operation[Any], result: Any) -> StepResult:
        """Returns the result of an answer (see `ShardEpisodes.answered`)."""
        step = super().answered(operation, result)
        if self._last is not None and not isinstance(operation, Step):
            step = (step[0], np.zeros_like(self._last[1]), *step[2:])
        # Returned again if the session is lost. A copy, because the user may change the observations.
        self._last = deepcopy(step[0]), step[1]
        return step

    async def recovered(self, operation: Operation[Any], loss: RemoteError) -> StepResult:
        """Ends all episodes (see `ShardEpisodes.recovered`)."""
        await self._handle.lose()
        if self._last is None or not isinstance(operation, Step):
            raise loss
        return await self._truncated(self._last, loss)

    async def _truncated(self, last: tuple[Any, npt.NDArray[Any]], error: Exception) -> StepResult:
        """Returns the end of every episode; in mode SAME_STEP, starts the next ones in the same step."""
        size = self.spec.size
        lost = {"lost": True, "lost_reason": str(error)}
        infos = _joined([lost] * size)
        ended = np.zeros_like(last[1]), np.zeros(size, np.bool_), np.ones(size, np.bool_)
        if self._autoreset != "SAME_STEP":
            return (last[0], *ended, infos)
        utils = self._family.vector.utils
        shown = utils.iterate(utils.batch_space(self._space, size), last[0])
        final = [{"final_obs": each, "final_info": lost} for each in shown]
        await self._handle.make_new()
        reset = self.reset(None, ResetOptions())
        observations, *_, first = self.answered(reset, await self._handle.ask(reset))
        return (observations, *ended, {**_joined(final), **infos, **first})


#: The class of a shard's episodes, by `on_lost`.
EPISODES = {"raise": ShardEpisodes, "replay": ShardEpisodes, "truncate": TruncatedEpisodes}


def drawn_seeds(seed: Any, size: int) -> Any:
    """Returns seeds in a form that `reset` accepts; draws one for each environment without a seed."""
    first = secrets.randbits(_SEED_BITS)
    if seed is None:
        return first
    if not is_tuple_or_list(seed):
        return seed
    drawn = range(first, first + size)
    return [own if each is None else each for each, own in zip(seed, drawn, strict=True)]


def _joined(infos: Sequence[Infos]) -> Infos:
    """Joins the infos of environments, as a `SyncVectorEnv` does."""
    joined: Infos = {}
    for index, info in enumerate(infos):
        add_info(joined, info, index, len(infos))
    return joined


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
        """Offers a buffer for the observations of the next answer (see `Transport.set_buffer`)."""
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
