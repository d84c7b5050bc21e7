"""A shard: the environments of a vector environment that share a session, and their recovery."""

from __future__ import annotations

import secrets
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from envwire.client._recovery.session_handle import SessionHandle
from envwire.client._session.operations import Operation, Reset, Step
from envwire.client._session.stats import ConnectionStats
from envwire.client._vector.batching.infos import Infos
from envwire.client._vector.batching.resets import ResetOptions
from envwire.client._vector.layout import ShardSpec
from envwire.client.errors import RemoteError, SessionClosedError
from envwire.codec import Family
from envwire.envs.type_guards import is_tuple_or_list
from envwire.v1 import environment_pb2 as pb
from envwire.wire.frames import Area

_T = TypeVar("_T")

#: What `VectorEnv.step` returns.
StepResult = tuple[Any, npt.NDArray[Any], npt.NDArray[Any], npt.NDArray[Any], Infos]

#: Of a seed that every environment takes, and those that follow it.
_SEED_BITS = 30


class Shard:
    """The environments of one session.

    Args:
        spec: Which environments they are.
        handle: Whichever session holds them now.
    """

    def __init__(self, spec: ShardSpec, handle: SessionHandle) -> None:
        self.spec = spec
        self.handle = handle
        self._is_new = False
        self._operation: Operation[Any] = Reset()
        self._failure: RemoteError | None = None

    def make(self) -> pb.MakeResponse:
        """Makes the session, and returns what the server says of it."""
        self._is_new = True
        return self.handle.make()

    def follow(self, autoreset: str, space: Any, family: Family) -> None:
        """Takes note of what the environments are like.

        Args:
            autoreset: Name of their autoreset mode.
            space: The space of one environment's observations.
            family: Its library.
        """

    def begin_step(self, actions: Any) -> None:
        """Sends a step.

        Raises:
            SessionClosedError: There is no session.
        """
        if self.handle.session is None:
            self.restart()
        else:
            self._begin(Step(actions))

    def restart(self) -> None:
        """Begins what stands for a step where the session was lost.

        Raises:
            SessionClosedError: Nothing does.
        """
        raise SessionClosedError(
            f"the session of environments {self.spec.start} to {self.spec.stop - 1} was lost; reset() makes "
            "them again"
        )

    def begin_reset(self, seed: Any, options: ResetOptions) -> None:
        """Sends a reset, all of which has to be reset when the session is new."""
        recording = self.handle.strategy.recording
        if recording is not None and not recording.rooted:
            seed = drawn_seeds(
                seed, self.spec.size
            )  # one that was never given could not be given again
        common, each = options.unmasked if self._is_new else options
        self._is_new = False
        self._begin(Reset(seed, common, member_options=each))

    def _begin(self, operation: Operation[Any]) -> None:
        self._operation, self._failure = operation, None
        try:
            self.handle.begin(operation)
        except RemoteError as error:
            if not self.handle.is_loss(error):
                raise
            self._failure = error  # told when it is waited for, as any loss

    def await_reply(self) -> bool:
        """Waits until what was begun is answered, or the connection broke (see `BlockingDriver.await_reply`)."""
        session = self.handle.session
        return self._failure is None and session is not None and session.await_reply()

    def finish(self) -> StepResult:
        """Waits for what was begun; a reset gives rewards and flags of zero.

        Raises:
            RemoteError: The session was lost, if `is_loss` says so: `recover` goes on from there.
            Exception: Whatever an environment raised.
        """
        if self._failure is not None:
            raise self._failure
        return self._as_step(self.handle.finish())

    def is_loss(self, error: Exception) -> bool:
        """Returns whether the session was lost, by what `finish` raised."""
        return isinstance(error, RemoteError) and self.handle.is_loss(error)

    def recover(self, loss: RemoteError) -> StepResult:
        """Returns what `finish` would have returned, had the session not been lost.

        Raises:
            RemoteError: That cannot be told.
        """
        result = self.handle.recover(self._operation, loss)
        return self._as_step(result)

    def _as_step(self, result: Any) -> StepResult:
        if isinstance(self._operation, Step):
            step: StepResult = result[0]
            return step
        return reset_as_step(result[0], self.spec.size)

    def serve(self, operation: Operation[_T]) -> _T:
        """Serves a request that is neither a step nor a reset.

        Raises:
            SessionClosedError: There is no session.
            Exception: Whatever the environment raised.
        """
        return self.handle.serve(operation)

    def offer(self, buffer: Area) -> None:
        """Says where observations may go (see `SessionHandle.offer`)."""
        self.handle.offer(buffer)

    def fileno(self) -> int:
        """Returns what is readable once `finish` need not wait; -1 where only `finish` can tell."""
        session = self.handle.session
        return -1 if session is None or self._failure else session.fileno()

    @property
    def timeout(self) -> float:
        """Seconds to wait for a reply."""
        session = self.handle.session
        return 0.0 if session is None else session.session.timeout

    @property
    def stats(self) -> ConnectionStats:
        """What connections and sessions here went through."""
        return self.handle.stats


def reset_as_step(result: tuple[Any, Infos], size: int) -> StepResult:
    """Returns what a reset led to in the form of a step, with rewards and flags of zero."""
    observations, infos = result
    return (
        observations,
        np.zeros(size),
        np.zeros(size, np.bool_),
        np.zeros(size, np.bool_),
        infos,
    )


def drawn_seeds(seed: Any, size: int) -> Any:
    """Returns a seed for each environment, as `reset` takes them: its own, or one that is drawn for it."""
    first = secrets.randbits(_SEED_BITS)
    if seed is None:
        return first
    if not is_tuple_or_list(seed):
        return seed
    drawn = range(first, first + size)
    return [own if each is None else each for each, own in zip(seed, drawn, strict=True)]
