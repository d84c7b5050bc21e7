"""What becomes of the environments of a session that was lost, while those of other sessions go on.

"raise": whoever asked gets the error. "truncate": their episodes end, and they are made again when the next ones begin.
"replay": they are made again and brought to where they were, and the request is sent once more.
"""

from __future__ import annotations

import contextlib
import secrets
from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from envwire.client._recovery.strategies import ATTEMPTS, bring_back
from envwire.client._session.recording import Recording
from envwire.client._vector.infos import Infos
from envwire.client._vector.layout import Share
from envwire.client._vector.making import Maker, Owner
from envwire.client._vector.resets import ResetOptions
from envwire.client._vector.session import LOST, VectorSession
from envwire.client._vector.shards import Seat, StepResult
from envwire.client.errors import RemoteError
from envwire.codec import Family
from envwire.envs.type_guards import is_array, is_dict, is_tuple, is_tuple_or_list

_T = TypeVar("_T")

#: Of a seed that every environment takes, and those that follow it.
_SEED_BITS = 30


class TruncatingSeat(Seat):
    """A seat whose environments' episodes end with the session. For its arguments see `Seat`."""

    _last: tuple[Any, npt.NDArray[Any]] | None = None
    _autoreset: str
    _split: Callable[[Any], list[Any]]

    def follow(self, autoreset: str, space: Any, family: Family) -> None:
        """Takes note of what the environments are like (see `Seat.follow`)."""
        self._autoreset = autoreset
        self._split = partial(_split, family, space, self.share.size)

    def restart(self) -> None:
        """Begins the next episodes, in environments that are made again (see `Seat.restart`)."""
        if self._autoreset == "DISABLED":
            super().restart()
        self.make()
        self.begin_reset(None, ResetOptions())

    def finish(self) -> StepResult:
        """Waits for what was begun, or ends all episodes (see `Seat.finish`)."""
        try:
            result = super().finish()
        except LOST as error:
            if self._resets or self._last is None:
                raise
            return self._truncated(self._last, error)
        # Shown once more should the session be lost, so that nobody else may change it.
        self._last = _copy(result[0]), result[1]
        return result

    def _as_step(self, observations: Any, infos: Infos) -> StepResult:
        result = super()._as_step(observations, infos)
        if self._last is None:
            return result
        return (result[0], np.zeros_like(self._last[1]), *result[2:])

    def _truncated(self, last: tuple[Any, npt.NDArray[Any]], error: Exception) -> StepResult:
        """Returns the end of every episode, and begins the next ones where that belongs to the same step."""
        size = self.share.size
        infos = _loss(error, size)
        ended = np.zeros_like(last[1]), np.zeros(size, np.bool_), np.ones(size, np.bool_)
        if self._autoreset != "SAME_STEP":
            return (last[0], *ended, infos)
        everybody = np.ones(size, np.bool_)
        final = np.empty(size, dtype=object)
        final[:] = self._split(last[0])
        self.make()
        self.begin_reset(None, ResetOptions())
        observations, *_, first = self.finish()
        ending = {"final_obs": final, "_final_obs": everybody, "final_info": _loss(error, size)}
        return (observations, *ended, {**ending, "_final_info": everybody, **infos, **first})


class ReplayingSeat(Seat):
    """A seat whose environments are made again, elsewhere if need be, and asked all that the lost ones were asked.

    Args:
        share: As for `Seat`.
        maker: As for `Seat`.
        owner: As for `Seat`.
        recording: What the environments were asked.
    """

    def __init__(self, share: Share, maker: Maker, owner: Owner, recording: Recording) -> None:
        super().__init__(share, maker, owner, recording)
        self._recorded = recording
        self._request: tuple[Any, ...] = ()

    def begin_reset(self, seed: Any, options: ResetOptions) -> None:
        """Sends a reset (see `Seat.begin_reset`); a seed that was never given could not be given again."""
        if not self._recorded.rooted:
            seed = _drawn(seed, self.share.size)
        super().begin_reset(seed, options)

    def _begin(self, begin: Callable[..., None], *args: Any) -> None:
        self._request = begin, *args
        super()._begin(begin, *args)

    def finish(self) -> StepResult:
        """Waits for what was begun, and begins it again where the session is lost (see `Seat.finish`)."""
        for _ in range(ATTEMPTS - 1):
            try:
                return super().finish()
            except LOST as error:  # noqa: PERF203 - the loop is for lost sessions
                self._recover(error)
                self._begin(*self._request)
        return super().finish()

    def serve(self, request: Callable[[VectorSession], _T]) -> _T:
        """Serves a request, again where the session is lost (see `Seat.serve`)."""
        for _ in range(ATTEMPTS - 1):
            session = self.live()
            try:
                return request(session)
            except LOST as error:
                self._lose()
                self._recover(error)
        return super().serve(request)

    def _recover(self, error: Exception) -> None:
        """Brings a new session to where the lost one was."""
        is_new = self._is_new
        self._recorded.settle()
        bring_back(self, self._recorded, error)
        self._is_new = is_new
        self._stats = self._stats.plus(recovered=1)

    def make_session(self) -> VectorSession:
        """Makes the environments again, in a session that takes the place of the lost one."""
        self._make_session()
        return self.live()

    def let_go(self, *, close: bool = False) -> None:
        """Lets go of the session, and closes one that is there still."""
        session = self.session
        if session is not None and close:
            with contextlib.suppress(RemoteError):
                session.close()
        self.leave()


#: Makes the seats of each policy: with share, maker and owner, and a new recording.
POLICIES: dict[str, Callable[[Share, Maker, Owner, Recording], Seat]] = {
    "raise": lambda share, maker, owner, _: Seat(share, maker, owner),
    "truncate": lambda share, maker, owner, _: TruncatingSeat(share, maker, owner),
    "replay": ReplayingSeat,
}


def _drawn(seed: Any, size: int) -> Any:
    """Returns a seed for each environment, as `reset` takes them: its own, or one that is drawn for it."""
    first = secrets.randbits(_SEED_BITS)
    if seed is None:
        return first
    if not is_tuple_or_list(seed):
        return seed
    drawn = range(first, first + size)
    return [own if each is None else each for each, own in zip(seed, drawn, strict=True)]


def _split(family: Family, space: Any, size: int, observations: Any) -> list[Any]:
    """Takes a batch of observations apart."""
    utils = family.vector.utils
    return list(utils.iterate(utils.batch_space(space, size), observations))


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
