"""The episodes of one shard: builds its requests, reads the answers, and recovers a lost session. No I/O.

Blocking and asyncio vector environments share it.
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
        self._is_new = False

    def make(self) -> Flow[pb.MakeResponse]:
        """Makes the session; returns the answer to its Make."""
        self._is_new = True
        return (yield MakeNew())  # type: ignore[no-any-return]

    def follow(self, autoreset: str, space: Any, family: Family) -> None:
        """Sets the attributes of the environments.

        Args:
            autoreset: Name of their autoreset mode.
            space: The space of one environment's observations.
            family: Classes to build values of.
        """

    def reset(self, seed: Any, options: ResetOptions) -> Operation[Any]:
        """Returns the request for a reset; in a new session, for all its environments."""
        recording = self._handle.strategy.recording
        if recording is not None and not recording.rooted:
            seed = drawn_seeds(seed, self.spec.size)  # a replay needs known seeds
        common, each = options.unmasked if self._is_new else options
        self._is_new = False
        return Reset(seed, common, member_options=each)

    def restart(self) -> Flow[Operation[Any]]:
        """Returns the request to send instead of a step after the session was lost.

        Raises:
            SessionClosedError: There is no session; the caller has to reset.
        """
        raise SessionClosedError(
            f"the session of environments {self.spec.start} to {self.spec.stop - 1} was lost; reset() makes "
            "them again"
        )
        yield

    def answered(self, operation: Operation[Any], result: Any) -> StepResult:
        """Returns the result of an answer; after a reset, rewards and flags are zero."""
        if isinstance(operation, Step):
            step: StepResult = result[0]
            return step
        (observations, infos), size = result[0], self.spec.size
        flags = np.zeros(size, np.bool_), np.zeros(size, np.bool_)
        return observations, np.zeros(size), *flags, infos

    def recovered(self, operation: Operation[Any], loss: RemoteError) -> Flow[StepResult]:
        """Returns the result of a request during which the session was lost.

        Raises:
            RemoteError: The session is not recovered.
        """
        result = yield from self._handle.serve_again(operation, loss)
        return self.answered(operation, result)


def drawn_seeds(seed: Any, size: int) -> Any:
    """Returns seeds in a form that `reset` accepts; draws one for each environment without a seed."""
    first = secrets.randbits(_SEED_BITS)
    if seed is None:
        return first
    if not is_tuple_or_list(seed):
        return seed
    drawn = range(first, first + size)
    return [own if each is None else each for each, own in zip(seed, drawn, strict=True)]
