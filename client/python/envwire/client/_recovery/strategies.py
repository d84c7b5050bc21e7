"""What becomes of an environment whose session was lost: one class for each policy.

"raise": whoever asked gets the error. "truncate": the step that finds the session lost ends the episode. "replay": the
environment is made again and brought to where it was, and the request is sent once more.
"""

from __future__ import annotations

import copy
import logging
import time
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from envwire.client._session.recording import Recording
from envwire.client._session.remote_session import RemoteSession
from envwire.client.errors import (
    RemoteError,
    ReplayError,
    ServerUnavailableError,
)
from envwire.codec import Reason
from envwire.codec.fastpath.steps import StepResult
from envwire.v1 import spaces_pb2

_log = logging.getLogger("envwire.client")

#: Reasons after which a session is no more.
ENDS = frozenset(
    reason.value
    for reason in (
        Reason.UNKNOWN_SESSION,
        Reason.SESSION_CLOSED,
        Reason.SESSION_EXPIRED,
        Reason.SESSION_LOST,
        Reason.STEP_TIMEOUT,
        Reason.DRAINING,
    )
)

#: A request that loses its session so often may be what kills it.
ATTEMPTS = 3
#: A new session may be lost as well while it is made and brought forward; seconds to wait before the next one.
_PAUSES = (0.0, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0)

_NOTHING = object()


def is_lost(error: RemoteError) -> bool:
    """Returns whether a session will not come back; one whose server is gone will not."""
    return error.reason in ENDS or isinstance(error, ServerUnavailableError)


class Owner(Protocol):
    """The proxy, as its policy sees it."""

    def make_session(self) -> RemoteSession:
        """Makes the environment again, in a session that takes the place of the lost one."""
        ...

    def let_go(self, *, close: bool = False) -> None:
        """Lets go of the session, and closes one that is there still."""
        ...


class LossPolicy:
    """What the policies have in common: without more, whoever asked gets the error.

    Attributes:
        recording: What is recorded, by a policy that records.
    """

    recording: Recording | None = None

    def begin(self) -> None:
        """Notes that the environment is a new one."""

    def copy(self) -> LossPolicy:
        """Returns the policy of a copy of the environment."""
        return copy.copy(self)

    def root(self, session: RemoteSession, seed: int | None) -> spaces_pb2.RandomState | None:
        """Returns a state to give the environment's generator before it is reset; None for none."""
        del session, seed
        return None

    def saw(self, observation: Any) -> None:
        """Takes every observation."""

    def concerns(self, error: RemoteError) -> bool:
        """Returns whether the session is lost, by what a request ended with."""
        return error.reason in ENDS

    def recover(
        self, owner: Owner, request: Callable[..., Any], error: RemoteError, attempt: int
    ) -> None:
        """Sees to it that a request can be sent once more, or raises.

        Args:
            owner: The proxy, which let go of the lost session.
            request: The method of `RemoteSession` that was called.
            error: How the session was lost.
            attempt: How often this request lost one, from 1.

        Raises:
            RemoteError: It is not to be sent again.
        """
        del owner, request, attempt
        raise error

    def ending(self, error: RemoteError) -> StepResult:
        """Returns what a step shows that cannot be taken, or raises its error."""
        raise error


class Raise(LossPolicy):
    """Whoever asked gets the error."""


class Truncate(LossPolicy):
    """The step that finds the session lost ends the episode, as a time limit would."""

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

    def recover(
        self, owner: Owner, request: Callable[..., Any], error: RemoteError, attempt: int
    ) -> None:
        """Makes the environment again for a reset; any other request raises, and the next step ends the episode."""
        if request is not RemoteSession.reset or attempt > 1:
            self._loss = error
            raise error
        _log.warning("%s: %s; making it again for the reset", owner, error)
        self.begin()
        owner.make_session()

    def ending(self, error: RemoteError) -> StepResult:
        """Returns the end of the episode; raises when it had not begun, or was ended before."""
        loss, self._loss = self._loss, None
        if loss is None or self._last is _NOTHING:
            raise error
        info = {"lost": True, "lost_reason": str(loss)}
        return _copied(self._last), 0.0, False, True, info


class Replay(LossPolicy):
    """The environment is made again, elsewhere if need be, and asked all that the lost one was asked.

    Args:
        recording: What it was asked.
    """

    def __init__(self, recording: Recording) -> None:
        self.recording = self._recording = recording

    def begin(self) -> None:
        """Begins another recording."""
        self._recording.begin()

    def concerns(self, error: RemoteError) -> bool:
        """Returns whether the session is lost; without its server it is."""
        return is_lost(error)

    def copy(self) -> LossPolicy:
        """Returns the policy of a copy of the environment, whose recording goes on by itself."""
        return Replay(self._recording.copy())

    def root(self, session: RemoteSession, seed: int | None) -> spaces_pb2.RandomState | None:
        """Returns the generator's own state before a first reset without a seed: it could not be drawn again."""
        if seed is not None or self._recording.rooted:
            return None
        try:
            mirror = session.get_random("np_random")
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
        self, owner: Owner, request: Callable[..., Any], error: RemoteError, attempt: int
    ) -> None:
        """Brings a new session to where the lost one was."""
        del request
        self._recording.settle()
        if attempt >= ATTEMPTS:
            raise error
        bring_back(owner, self._recording, error)


def bring_back(owner: Owner, recording: Recording, error: Exception) -> None:
    """Makes an environment again and replays a recording to it; tries again when that session is lost as well.

    Raises:
        ReplayError: It cannot be replayed, or went another way.
        RemoteError: No server makes it.
    """
    begun = time.monotonic()
    recording.check_whole(error)
    _log.warning("%s: %s; replaying %d requests", owner, error, len(recording))
    for pause in _PAUSES:
        session = None
        try:
            session = owner.make_session()
            session.replay(recording)
        except RemoteError as failure:
            owner.let_go(close=True)
            if session is None and failure.reason not in ENDS:
                raise
            if not is_lost(failure):
                raise _cannot(failure) from error
            error = failure
            time.sleep(pause)
        else:
            _log.info("%s: goes on after %.1f s", owner, time.monotonic() - begun)
            return
    raise error


def _cannot(failure: RemoteError) -> ReplayError:
    if isinstance(failure, ReplayError):
        return failure
    return ReplayError(f"the session was lost, and its requests could not be replayed: {failure}")


def _copied(observation: Any) -> Any:
    if type(observation) is np.ndarray:
        array: Any = observation
        return array.copy()
    return copy.deepcopy(observation)


Maker = Callable[[int, "str | None"], LossPolicy]

#: The policies by name; each is made with the limit of a recording and the render mode.
POLICIES: dict[str, Maker] = {
    "raise": lambda _, __: Raise(),
    "truncate": lambda _, __: Truncate(),
    "replay": lambda limit, render_mode: Replay(Recording(limit, render_mode)),
}


def loss_policy(name: str, replay_limit: int, render_mode: str | None) -> LossPolicy:
    """Returns a policy.

    Args:
        name: One of `POLICIES`.
        replay_limit: How many requests are recorded at most.
        render_mode: The environment's render mode.

    Raises:
        ValueError: There is none of this name.
    """
    if name not in POLICIES:
        raise ValueError(f"unknown on_lost={name!r}; choose one of {', '.join(POLICIES)}")
    return POLICIES[name](replay_limit, render_mode)
