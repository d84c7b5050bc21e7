"""The place of one session in a vector environment: its environments, and whichever session holds them now.

A session that was lost leaves its seat empty. What then becomes of its environments is the policy: an error, or the
end of their episodes, after which they are made again when the next ones would begin.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from envwire.client._vector_infos import Infos
from envwire.client._vector_layout import Share
from envwire.client._vector_making import Owner
from envwire.client._vector_resets import ResetOptions
from envwire.client._vector_session import LOST, VectorSession
from envwire.client.errors import SessionClosedError
from envwire.codec.frames import Area
from envwire.envs.spaces.narrow import is_array, is_dict, is_tuple
from envwire.v1 import environment_pb2 as pb

#: What `VectorEnv.step` returns.
StepResult = tuple[Any, npt.NDArray[Any], npt.NDArray[Any], npt.NDArray[Any], Infos]

POLICIES = ("raise", "truncate")


class Seat:
    """The seat of one session.

    Args:
        share: Which environments it is for.
        truncate: Whether the loss of the session ends their episodes, rather than to raise.
        make: Makes a session.
        owner: Whose sessions they are.

    Attributes:
        session: The session; None when there is none.
        autoreset: Name of the autoreset mode.
        split: Takes a batch of observations of these environments apart.
    """

    def __init__(
        self,
        share: Share,
        truncate: bool,
        make: Callable[[Share], tuple[VectorSession, pb.MakeResponse]],
        owner: Owner,
    ) -> None:
        self.share = share
        self.session: VectorSession | None = None
        self.autoreset = ""
        self.split: Callable[[Any], list[Any]] = list
        self._truncate = truncate
        self._make = make
        self._owner = owner
        self._resets = False
        self._is_new = False
        self._failure: Exception | None = None
        self._last: tuple[Any, npt.NDArray[Any]] | None = None

    def make(self) -> pb.MakeResponse:
        """Makes the session, and returns what the server says of it."""
        self.session, made = self._make(self.share)
        self._owner.take(self.session)
        self._is_new = True
        return made

    def begin_step(self, actions: Any) -> None:
        """Sends a step; or a reset, to a new session, where the last one was lost.

        Raises:
            SessionClosedError: There is no session, and a step is not what makes another one.
        """
        if self.session is None:
            self._check_restart()
            self.make()
            self.begin_reset(None, ResetOptions())
        else:
            self._resets = False
            self._begin(self.session.begin_step, actions)

    def _check_restart(self) -> None:
        if not self._truncate or self.autoreset == "DISABLED":
            raise SessionClosedError(
                f"the session of environments {self.share.start} to {self.share.stop - 1} was lost; reset() makes "
                "them again"
            )

    def begin_reset(self, seed: Any, options: ResetOptions) -> None:
        """Sends a reset, all of which has to be reset when the session is new."""
        session = self.session
        assert session is not None  # noqa: S101 - made before
        self._resets = True
        common, each = options.unmasked if self._is_new else options
        self._is_new = False
        self._begin(session.begin_reset, seed, common, each)

    def _begin(self, begin: Callable[..., None], *args: Any) -> None:
        self._failure = None
        try:
            begin(*args)
        except LOST as error:  # told when it is waited for, as any loss
            self._failure = error

    def finish(self) -> StepResult:
        """Waits for what was begun; a reset gives rewards and flags of zero.

        Raises:
            RemoteError: The session was lost, and that is to be raised.
            Exception: Whatever an environment raised.
        """
        session = self.session
        assert session is not None  # noqa: S101 - it was begun
        try:
            if self._failure is not None:
                raise self._failure
            result = session.finish()
        except LOST as error:
            self.leave()
            if self._resets or self._last is None:
                raise
            return self._truncated(self._last, error)
        if self._resets:
            result = self._as_step(*result)
        if (
            self._truncate
        ):  # shown once more should the session be lost, so that nobody else may change it
            self._last = _copy(result[0]), result[1]
        return result  # type: ignore[no-any-return]

    def _as_step(self, observations: Any, infos: Infos) -> StepResult:
        size, last = self.share.size, self._last
        rewards = np.zeros(size) if last is None else np.zeros_like(last[1])
        return observations, rewards, np.zeros(size, np.bool_), np.zeros(size, np.bool_), infos

    def _truncated(self, last: tuple[Any, npt.NDArray[Any]], error: Exception) -> StepResult:
        """Returns the end of every episode, and begins the next ones where that belongs to the same step."""
        size = self.share.size
        infos = _loss(error, size)
        ended = np.zeros_like(last[1]), np.zeros(size, np.bool_), np.ones(size, np.bool_)
        if self.autoreset != "SAME_STEP":
            return (last[0], *ended, infos)
        everybody = np.ones(size, np.bool_)
        final = np.empty(size, dtype=object)
        final[:] = self.split(last[0])
        self.make()
        self.begin_reset(None, ResetOptions())
        observations, *_, first = self.finish()
        ending = {"final_obs": final, "_final_obs": everybody, "final_info": _loss(error, size)}
        return (observations, *ended, {**ending, "_final_info": everybody, **infos, **first})

    def offer(self, place: Area) -> None:
        """Says where observations may go (see `VectorSession.offer`)."""
        if self.session is not None:
            self.session.offer(place)

    def fileno(self) -> int:
        """Returns what is readable once `finish` need not wait; -1 where only `finish` can tell."""
        return -1 if self.session is None or self._failure else self.session.fileno()

    @property
    def timeout(self) -> float:
        """Seconds to wait for a reply."""
        return 0.0 if self.session is None else self.session.timeout

    def leave(self) -> None:
        """Lets go of the session, which is no more."""
        session, self.session = self.session, None
        if session is not None:
            self._owner.leave(session)


def _loss(error: Exception, size: int) -> Infos:
    everybody = np.ones(size, np.bool_)
    reasons = np.full(size, str(error), dtype=object)
    return {
        "lost": np.copy(everybody),
        "_lost": np.copy(everybody),
        "lost_reason": reasons,
        "_lost_reason": everybody,
    }


def _copy(observations: Any) -> Any:
    if is_dict(observations):
        return {key: _copy(part) for key, part in observations.items()}
    if is_tuple(observations):
        return tuple(map(_copy, observations))
    return np.copy(observations) if is_array(observations) else observations
