"""What the environments of one session are asked, how its answers read, and what follows when it is lost. No I/O.

Written once for blocking and for asyncio vector environments.
"""

from __future__ import annotations

import secrets
from typing import Any

import numpy as np
import numpy.typing as npt

from envwire.client._recovery.base_handle import BaseSessionHandle
from envwire.client._recovery.flows import Flow, MakeNew
from envwire.client._session.operations import Operation, Reset, Step
from envwire.client._vector.batching.infos import Infos
from envwire.client._vector.batching.resets import ResetOptions
from envwire.client._vector.layout import ShardSpec
from envwire.client.errors import RemoteError, SessionClosedError
from envwire.codec import Family
from envwire.envs.type_guards import is_tuple_or_list
from envwire.v1 import environment_pb2 as pb

#: What `VectorEnv.step` returns.
StepResult = tuple[Any, npt.NDArray[Any], npt.NDArray[Any], npt.NDArray[Any], Infos]

#: Of a seed that every environment takes, and those that follow it.
_SEED_BITS = 30


class ShardEpisodes:
    """The episodes of the environments of one session.

    Args:
        spec: Which environments they are.
        handle: Whichever session holds them now.

    Attributes:
        spec: Which environments they are.
    """

    def __init__(self, spec: ShardSpec, handle: BaseSessionHandle[Any]) -> None:
        self.spec = spec
        self._handle = handle
        self._is_new = False

    def make(self) -> Flow[pb.MakeResponse]:
        """Makes the session, and returns what the server says of it."""
        self._is_new = True
        return (yield MakeNew())  # type: ignore[no-any-return]

    def follow(self, autoreset: str, space: Any, family: Family) -> None:
        """Takes note of what the environments are like.

        Args:
            autoreset: Name of their autoreset mode.
            space: The space of one environment's observations.
            family: Its library.
        """

    def reset(self, seed: Any, options: ResetOptions) -> Operation[Any]:
        """Returns a reset, all of which has to be reset when the session is new."""
        recording = self._handle.strategy.recording
        if recording is not None and not recording.rooted:
            seed = drawn_seeds(
                seed, self.spec.size
            )  # one that was never given could not be given again
        common, each = options.unmasked if self._is_new else options
        self._is_new = False
        return Reset(seed, common, member_options=each)

    def restart(self) -> Flow[Operation[Any]]:
        """Returns what is asked instead of a step where the session was lost.

        Raises:
            SessionClosedError: Nothing is.
        """
        raise SessionClosedError(
            f"the session of environments {self.spec.start} to {self.spec.stop - 1} was lost; reset() makes "
            "them again"
        )
        yield

    def answered(self, operation: Operation[Any], result: Any) -> StepResult:
        """Returns what an answer says; a reset gives rewards and flags of zero."""
        if isinstance(operation, Step):
            step: StepResult = result[0]
            return step
        return reset_as_step(result[0], self.spec.size)

    def recovered(self, operation: Operation[Any], loss: RemoteError) -> Flow[StepResult]:
        """Returns what the answer would have said, had the session not been lost.

        Raises:
            RemoteError: That cannot be told.
        """
        result = yield from self._handle.serve_again(operation, loss)
        return self.answered(operation, result)


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
