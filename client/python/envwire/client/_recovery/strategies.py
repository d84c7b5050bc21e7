"""Recovery strategies: one class for each value of `on_lost`.

"raise": the caller gets the error. "truncate": the step that detects the loss ends the episode. "replay": the
environment is made again and brought to its last state, and the request is sent once more.

Strategies do no I/O themselves: they await that of the environment's handle.
"""

from __future__ import annotations

import copy
import logging
from collections.abc import Callable
from typing import Any

import numpy as np

from envwire.client._errors import ENDS, is_lost
from envwire.client._recovery.bring_back import Ask, Recovering, bring_back, replay_first_log
from envwire.client._session.operations import Operation, Reset
from envwire.client._session.recording import RESET_MASK, MemberRecording, Recording
from envwire.client.errors import RemoteError, ServerUnavailableError, StepTimeoutError
from envwire.client.options import ConnectionOptions
from envwire.codec.steps import StepResult

_log = logging.getLogger("envwire.client")

#: A request that loses this many sessions in a row is not sent again: it may be what kills them.
ATTEMPTS = 3

_NOTHING = object()


class RecoveryStrategy:
    """Base of the strategies, and "raise" itself: the caller gets the error.

    Attributes:
        recording: The recording of the environment's requests, for a strategy that needs one.
        moves: Whether the environment moves to another server if its own stops answering, or is about to stop.
        observes: Whether it has to be told each observation.
    """

    recording: Recording | None = None
    moves = False
    observes = False

    def begin(self) -> None:
        """Starts over: the environment is made as a new one."""

    def copy(self) -> RecoveryStrategy:
        """Returns the strategy of a copy of the environment."""
        return copy.copy(self)

    def observe(self, observation: Any) -> None:
        """Notes the last observation, if `observes`."""

    def leaves_before(self, _operation: Operation[Any]) -> bool:
        """Returns whether the environment may move to another server before a request."""
        return self.moves

    async def arrive(self, ask: Ask) -> None:
        """Brings a new session to the state of the current one, which still exists.

        Args:
            ask: Sends a request to the new session.

        Raises:
            RemoteError: It cannot be brought to that state.
        """
        if self.recording is not None:
            await replay_first_log(ask, self.recording)

    def is_loss(self, error: RemoteError) -> bool:
        """Returns whether an error means a lost session: the server ended it, or refuses connections."""
        return error.reason in ENDS or (isinstance(error, ServerUnavailableError) and error.refused)

    async def recover(
        self, _handle: Recovering, _operation: Operation[Any], error: RemoteError, _attempt: int
    ) -> None:
        """Restores the environment so that the request can be sent again, or raises.

        Args:
            _handle: The environment.
            _operation: The request.
            error: The error that revealed the loss.
            _attempt: How many sessions this request has lost, from 1.

        Raises:
            RemoteError: The request is not sent again.
        """
        raise error

    def final_step(self, error: RemoteError) -> StepResult:
        """Turns a failed step into the result that ends the episode, or raises the error."""
        raise error


class _UnreachableIsLost(RecoveryStrategy):
    """A session whose server is unreachable counts as lost, because another server can make a new one."""

    def is_loss(self, error: RemoteError) -> bool:
        """Returns whether the session is lost, or its server unreachable."""
        return is_lost(error)


class RaiseUnreachable(_UnreachableIsLost):
    """The caller gets the error; a session whose server is unreachable counts as lost as well.

    Shards of a vector environment use it: the next reset makes the missing ones on any server with capacity.

    Args:
        moves: See `RecoveryStrategy`.
    """

    def __init__(self, *, moves: bool) -> None:
        self.moves = moves

    def leaves_before(self, operation: Operation[Any]) -> bool:
        """Returns whether a request resets all environments."""
        return isinstance(operation, Reset) and RESET_MASK not in (operation.options or {})


class Truncate(_UnreachableIsLost):
    """The step that detects the loss ends the episode, as a time limit would."""

    moves = True
    observes = True

    def __init__(self) -> None:
        self.begin()

    def begin(self) -> None:
        """Forgets the last observation."""
        self._last: Any = _NOTHING
        self._loss: RemoteError | None = None

    def observe(self, observation: Any) -> None:
        """Keeps a copy of the observation, since the user may change it."""
        self._last = _copied(observation)

    def leaves_before(self, operation: Operation[Any]) -> bool:
        """Returns whether a request starts a new episode."""
        return isinstance(operation, Reset)

    async def recover(
        self, handle: Recovering, operation: Operation[Any], error: RemoteError, attempt: int
    ) -> None:
        """Makes the environment again for a reset; any other request raises, and the next step ends the episode."""
        if not isinstance(operation, Reset) or attempt > 1:
            self._loss = error
            raise error
        _log.warning("%s: %s; making it again for the reset", handle, error)
        self.begin()
        await handle.make_again()

    def final_step(self, error: RemoteError) -> StepResult:
        """Returns the end of the episode; raises the error if no episode is under way."""
        loss, self._loss = self._loss, None
        if loss is None or self._last is _NOTHING:
            raise error
        info = {"lost": True, "lost_reason": str(loss)}
        return _copied(self._last), 0.0, False, True, info


class ReplayRecorded(_UnreachableIsLost):
    """The environment is made again, on another server if necessary, and the recorded requests are repeated.

    Args:
        recording: The recording of the environment's requests.
    """

    moves = True

    def __init__(self, recording: Recording) -> None:
        self.recording = self._recording = recording

    def begin(self) -> None:
        """Begins another recording."""
        self._recording.begin()

    def copy(self) -> RecoveryStrategy:
        """Returns the strategy of a copy of the environment, with its own copy of the recording."""
        return ReplayRecorded(self._recording.copy())

    async def recover(
        self, handle: Recovering, _operation: Operation[Any], error: RemoteError, attempt: int
    ) -> None:
        """Brings a new session to the state of the lost one.

        A step that exceeded a live server's timeout is not repeated: it would hang on another server as well.
        """
        if attempt >= ATTEMPTS or isinstance(error, StepTimeoutError):
            raise error
        await bring_back(handle, self._recording, error)


def _copied(observation: Any) -> Any:
    if type(observation) is np.ndarray:
        array: Any = observation
        return array.copy()
    return copy.deepcopy(observation)


#: Makes the strategies of single environments, by name, from the options and the render mode.
STRATEGIES: dict[str, Callable[[ConnectionOptions, str | None], RecoveryStrategy]] = {
    "raise": lambda _, __: RecoveryStrategy(),
    "truncate": lambda _, __: Truncate(),
    "replay": lambda options, mode: ReplayRecorded(Recording(options.replay_limit, mode)),
}

#: Makes the strategies of shards, by name, from the options, the render mode and the number of environments. For
#: "truncate", the vector environment itself ends the episodes.
SHARD_STRATEGIES: dict[str, Callable[[ConnectionOptions, str | None, int], RecoveryStrategy]] = {
    "raise": lambda _, __, ___: RaiseUnreachable(moves=False),
    "truncate": lambda _, __, ___: RaiseUnreachable(moves=True),
    "replay": lambda options, mode, size: ReplayRecorded(
        MemberRecording(options.replay_limit, size, mode)
    ),
}
