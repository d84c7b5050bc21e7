"""Recovery strategies: one class for each value of `on_lost`.

"raise": the caller gets the error. "truncate": the step that finds the session lost ends the episode. "replay": the
environment is made again and brought to where it was, and the request is sent once more.

Strategies decide; they do no I/O (see `envwire.client._recovery.flows`).
"""

from __future__ import annotations

import copy
import logging
from collections.abc import Callable
from typing import Any

import numpy as np

from envwire.client._errors.losses import ENDS, is_lost
from envwire.client._recovery.bring_back import arrived, bring_back
from envwire.client._recovery.flows import Ask, Flow, MakeAgain
from envwire.client._session.attribute_operations import GetRandom
from envwire.client._session.notices import Notice
from envwire.client._session.operations import Operation, Reset
from envwire.client._session.recording.member_recording import MemberRecording
from envwire.client._session.recording.recording import RESET_MASK, Recording
from envwire.client.errors import RemoteError, ServerUnavailableError, StepTimeoutError
from envwire.client.options import ConnectionOptions
from envwire.codec.steps.step_codec import StepResult
from envwire.v1 import spaces_pb2

_log = logging.getLogger("envwire.client")

#: A request that loses its session so often may be what kills it.
ATTEMPTS = 3

_NOTHING = object()


class RecoveryStrategy:
    """What the strategies have in common: by default the caller gets the error.

    Attributes:
        recording: What is recorded, by a strategy that records.
        moves: Whether it goes to another server when its own is silent.
        leaves: Whether it goes to another server when its own is about to stop.
    """

    recording: Recording | None = None
    moves = False
    leaves = False

    def begin(self) -> None:
        """Notes that the environment is a new one."""

    def copy(self) -> RecoveryStrategy:
        """Returns the strategy of a copy of the environment."""
        return copy.copy(self)

    def root(self, seed: Any) -> Flow[spaces_pb2.RandomState | None]:
        """Returns a state to give the environment's generator before it is reset; None for none."""
        del seed
        yield from ()
        return None

    def saw(self, observation: Any) -> None:
        """Takes every observation."""

    def leaves_before(self, operation: Operation[Any]) -> bool:
        """Returns whether it may go to another server before a request."""
        del operation
        return self.leaves

    def arrive(self) -> Flow[None]:
        """Brings a new session to where the present one is, which still answers; only asks that session.

        Raises:
            RemoteError: It cannot be brought there.
        """
        yield from ()

    def heard(self, label: str, notices: tuple[Notice, ...]) -> None:
        """Takes what the server tells beside an answer, once: that it is about to stop, for instance."""
        for notice in notices:
            _log.warning("%s: its server is %s, %.1f s left", label, notice.kind, notice.time_left)

    def concerns(self, error: RemoteError) -> bool:
        """Returns whether the session is lost, by what a request ended with: where nothing listens it is."""
        return error.reason in ENDS or (isinstance(error, ServerUnavailableError) and error.refused)

    def recover(
        self, label: object, operation: Operation[Any], error: RemoteError, attempt: int
    ) -> Flow[None]:
        """Sees to it that a request can be sent once more, or raises.

        Args:
            label: Names the environment in the log.
            operation: What was asked.
            error: How the session was lost.
            attempt: How often this request lost one, from 1.

        Raises:
            RemoteError: It is not to be sent again.
        """
        del label, operation, attempt
        yield from ()
        raise error

    def ending(self, error: RemoteError) -> StepResult:
        """Returns what a step shows that cannot be taken, or raises its error."""
        raise error


class Raise(RecoveryStrategy):
    """The caller gets the error."""


class RaiseUnreachable(RecoveryStrategy):
    """The caller gets the error; a session whose server is unreachable counts as lost, too.

    Shards of a vector environment use it: the next reset makes the missing ones on any server with capacity.

    Args:
        moves: As the attribute.
    """

    def __init__(self, *, moves: bool) -> None:
        self.moves = self.leaves = moves

    def leaves_before(self, operation: Operation[Any]) -> bool:
        """Returns whether all episodes end with a request."""
        return isinstance(operation, Reset) and RESET_MASK not in (operation.options or {})

    def concerns(self, error: RemoteError) -> bool:
        """Returns whether the session is lost; without its server it is."""
        return is_lost(error)


class Truncate(RecoveryStrategy):
    """The step that finds the session lost ends the episode, as a time limit would."""

    moves = leaves = True

    def __init__(self) -> None:
        self.begin()

    def begin(self) -> None:
        """Forgets the last observation."""
        self._last: Any = _NOTHING
        self._loss: RemoteError | None = None

    def saw(self, observation: Any) -> None:
        """Keeps an observation, which its user may change."""
        self._last = _copied(observation)

    def concerns(self, error: RemoteError) -> bool:
        """Returns whether the session is lost; without its server it is."""
        return is_lost(error)

    def leaves_before(self, operation: Operation[Any]) -> bool:
        """Returns whether the episode ends with a request."""
        return isinstance(operation, Reset)

    def recover(
        self, label: object, operation: Operation[Any], error: RemoteError, attempt: int
    ) -> Flow[None]:
        """Makes the environment again for a reset; any other request raises, and the next step ends the episode."""
        if not isinstance(operation, Reset) or attempt > 1:
            self._loss = error
            raise error
        _log.warning("%s: %s; making it again for the reset", label, error)
        self.begin()
        yield MakeAgain()

    def ending(self, error: RemoteError) -> StepResult:
        """Returns the end of the episode; raises when it had not begun, or was ended before."""
        loss, self._loss = self._loss, None
        if loss is None or self._last is _NOTHING:
            raise error
        info = {"lost": True, "lost_reason": str(loss)}
        return _copied(self._last), 0.0, False, True, info


class Replay(RecoveryStrategy):
    """The environment is made again, elsewhere if need be, and asked all that the lost one was asked.

    Args:
        recording: What it was asked.
    """

    moves = leaves = True

    def __init__(self, recording: Recording) -> None:
        self.recording = self._recording = recording

    def begin(self) -> None:
        """Begins another recording."""
        self._recording.begin()

    def concerns(self, error: RemoteError) -> bool:
        """Returns whether the session is lost; without its server it is."""
        return is_lost(error)

    def arrive(self) -> Flow[None]:
        """Replays the recording."""
        yield from arrived(self._recording)

    def copy(self) -> RecoveryStrategy:
        """Returns the strategy of a copy of the environment, whose recording goes on by itself."""
        return Replay(self._recording.copy())

    def root(self, seed: Any) -> Flow[spaces_pb2.RandomState | None]:
        """Returns the generator's own state before a reset without a seed, so that a recording can begin there."""
        if seed is not None:
            return None
        try:
            mirror = yield Ask(GetRandom(), recover=True)
        except RemoteError as error:
            if self.concerns(error):
                raise
            return None
        except (
            Exception
        ):  # an environment without such a generator; the digest tells whether it matters
            return None
        return mirror.np_random if mirror.HasField("np_random") else None

    def recover(
        self, label: object, operation: Operation[Any], error: RemoteError, attempt: int
    ) -> Flow[None]:
        """Brings a new session to where the lost one was.

        A live server that ended a step for its time is believed: elsewhere the step would hang as well.
        """
        del operation
        if attempt >= ATTEMPTS or isinstance(error, StepTimeoutError):
            raise error
        yield from bring_back(label, self._recording, error)


def _copied(observation: Any) -> Any:
    if type(observation) is np.ndarray:
        array: Any = observation
        return array.copy()
    return copy.deepcopy(observation)


Maker = Callable[[ConnectionOptions, "str | None"], RecoveryStrategy]


def _replay(options: ConnectionOptions, render_mode: str | None) -> RecoveryStrategy:
    return Replay(Recording(options.replay_limit, render_mode))


#: The strategies of single environments by name; each is made with the options and the render mode.
STRATEGIES: dict[str, Maker] = {
    "raise": lambda _, __: Raise(),
    "truncate": lambda _, __: Truncate(),
    "replay": _replay,
}


def _replay_members(
    options: ConnectionOptions, render_mode: str | None, size: int
) -> RecoveryStrategy:
    return Replay(MemberRecording(options.replay_limit, size, render_mode))


ShardMaker = Callable[[ConnectionOptions, "str | None", int], RecoveryStrategy]

#: Those of the shards of a vector environment, which ends episodes itself; each is told how many environments it has.
SHARD_STRATEGIES: dict[str, ShardMaker] = {
    "raise": lambda _, __, ___: RaiseUnreachable(moves=False),
    "truncate": lambda _, __, ___: RaiseUnreachable(moves=True),
    "replay": _replay_members,
}
