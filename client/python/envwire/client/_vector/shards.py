"""The place of one session in a vector environment: its environments, and whichever session holds them now.

A session that was lost leaves its seat empty, and whoever asked for something gets the error. Other policies are in
`envwire.client._recovery.vector_strategies`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from envwire.client._session.recording import Recording
from envwire.client._session.stats import ConnectionStats
from envwire.client._vector.infos import Infos
from envwire.client._vector.layout import Share
from envwire.client._vector.making import Maker, Owner
from envwire.client._vector.resets import ResetOptions
from envwire.client._vector.session import LOST, VectorSession
from envwire.client.errors import SessionClosedError, not_live
from envwire.codec import Family
from envwire.v1 import environment_pb2 as pb
from envwire.wire.frames import Area

_T = TypeVar("_T")

#: What `VectorEnv.step` returns.
StepResult = tuple[Any, npt.NDArray[Any], npt.NDArray[Any], npt.NDArray[Any], Infos]


class Seat:
    """The seat of one session.

    Args:
        share: Which environments it is for.
        maker: Makes sessions.
        owner: Whose sessions they are.
        recording: Takes what the environments are asked, for a policy that needs it.

    Attributes:
        session: The session; None when there is none.
    """

    def __init__(
        self, share: Share, maker: Maker, owner: Owner, recording: Recording | None = None
    ) -> None:
        self.share = share
        self.session: VectorSession | None = None
        self._recording = recording
        self._maker = maker
        self._make = maker.make
        self._owner = owner
        self._resets = False
        self._is_new = False
        self._failure: Exception | None = None
        self._stats = ConnectionStats()

    def __str__(self) -> str:
        return f"{self._owner}, environments {self.share.start} to {self.share.stop - 1}"

    def make(self) -> pb.MakeResponse:
        """Makes the session, and returns what the server says of it."""
        if self._recording is not None:
            self._recording.begin()
        return self._make_session()

    def _make_session(self) -> pb.MakeResponse:
        self.session, made = self._make(self.share, self._recording)
        self._make = self._maker.make_again
        self._owner.take(self.session)
        self._is_new = True
        return made

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
        if self.session is None:
            self.restart()
        else:
            self._resets = False
            self._begin(VectorSession.begin_step, actions)

    def restart(self) -> None:
        """Begins what stands for a step where the session was lost.

        Raises:
            SessionClosedError: Nothing does.
        """
        raise SessionClosedError(
            f"the session of environments {self.share.start} to {self.share.stop - 1} was lost; reset() makes "
            "them again"
        )

    def begin_reset(self, seed: Any, options: ResetOptions) -> None:
        """Sends a reset, all of which has to be reset when the session is new."""
        self._resets = True
        common, each = options.unmasked if self._is_new else options
        self._is_new = False
        self._begin(VectorSession.begin_reset, seed, common, each)

    def _begin(self, begin: Callable[..., None], *args: Any) -> None:
        self._failure = None
        try:
            begin(self.live(), *args)
        except LOST as error:  # told when it is waited for, as any loss
            self._failure = error

    def live(self) -> VectorSession:
        """Returns the session.

        Raises:
            SessionClosedError: There is none.
        """
        if self.session is None:
            raise not_live(self._owner)
        return self.session

    def finish(self) -> StepResult:
        """Waits for what was begun; a reset gives rewards and flags of zero.

        Raises:
            RemoteError: The session was lost, and that is to be raised.
            Exception: Whatever an environment raised.
        """
        try:
            if self._failure is not None:
                raise self._failure
            result = self.live().finish()
        except LOST:
            self._lose()
            raise
        return self._as_step(*result) if self._resets else result

    def _as_step(self, observations: Any, infos: Infos) -> StepResult:
        size = self.share.size
        return (
            observations,
            np.zeros(size),
            np.zeros(size, np.bool_),
            np.zeros(size, np.bool_),
            infos,
        )

    def serve(self, request: Callable[[VectorSession], _T]) -> _T:
        """Serves a request that is neither a step nor a reset.

        Args:
            request: Called with the session.

        Raises:
            SessionClosedError: There is no session.
            Exception: Whatever it raises.
        """
        return request(self.live())

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

    @property
    def stats(self) -> ConnectionStats:
        """What connections and sessions here went through."""
        resumed = 0 if self.session is None else self.session.resumed
        return self._stats.plus(resumed=resumed)

    def _lose(self) -> None:
        """Lets go of a session that was lost."""
        self._stats = self._stats.plus(lost=1)
        self.leave()

    def leave(self) -> None:
        """Lets go of the session, which is no more."""
        session, self.session = self.session, None
        if session is not None:
            self._stats = self._stats.plus(resumed=session.resumed)
            self._owner.leave(session)
