"""The successive sessions of one environment, and what follows when one is lost. No I/O.

Handles for blocking and for asyncio clients add how sessions are made and asked.
"""

from __future__ import annotations

from typing import Any, Generic, Protocol, TypeVar

from envwire.client._drivers.this_process import THIS_PROCESS
from envwire.client._errors.losses import not_live
from envwire.client._recovery.departure import Departures
from envwire.client._recovery.flows import Ask, Flow, LetGo
from envwire.client._recovery.making import SessionMaker
from envwire.client._recovery.strategies import RecoveryStrategy
from envwire.client._session.client_session import ClientSession
from envwire.client._session.notices import Notice
from envwire.client._session.operations import Operation
from envwire.client._session.stats import ConnectionStats
from envwire.client.errors import RemoteError


class Driver(Protocol):
    """Whatever drives a session."""

    @property
    def session(self) -> ClientSession:
        """The session."""
        ...

    @property
    def pid(self) -> int:
        """The process that it was made in."""
        ...


D = TypeVar("D", bound=Driver)


class Lives(Generic[D]):
    """The lives of one environment.

    Args:
        maker: Makes its sessions.
        strategy: What becomes of it when its session is lost.
        label: Names it in messages.

    Attributes:
        strategy: What becomes of it when its session is lost.
        session: What drives the present session; None when it is closed or lost.
        target: The server that its session is on, or was.
        lineage: Another object whenever the environment is made as a new one.
    """

    def __init__(self, maker: SessionMaker, strategy: RecoveryStrategy, label: object) -> None:
        self.strategy = strategy
        self.session: D | None = None
        self.target: str | None = None
        self._maker = maker
        self._departures = Departures(maker, strategy)
        self.lineage = object()
        self._label = label
        self._stats = ConnectionStats()

    def __str__(self) -> str:
        return str(self._label)

    @property
    def stats(self) -> ConnectionStats:
        """What connections and sessions here went through."""
        resumed = 0 if self.session is None else self.session.session.resumed
        return self._stats.plus(resumed=resumed)

    @property
    def notices(self) -> tuple[Notice, ...]:
        """What the server of the session told beside its answers."""
        return () if self.session is None else self.session.session.notices

    @property
    def recorded_as(self) -> str:
        """Name of the recording that the server keeps of the session; empty when it keeps none."""
        return "" if self.session is None else self.session.session.recorded_as

    @property
    def vacant(self) -> bool:
        """Whether this process has no session here: it is closed or lost, or belongs to a parent process."""
        return self.session is None or self.session.pid != THIS_PROCESS.pid

    def live(self) -> D:
        """Returns the session of this process.

        Raises:
            SessionClosedError: There is none; `reset()` makes one.
        """
        session = self.session
        if session is None:
            raise self.missing()
        if session.pid != THIS_PROCESS.pid:
            raise not_live(self, session.pid)
        return session

    def begin_life(self) -> None:
        """Notes that the environment is made as a new one."""
        self.strategy.begin()
        self.lineage = object()

    def take(self) -> D | None:
        """Detaches and returns the session, for the caller to close."""
        session, self.session = self.session, None
        self._departures.forget()
        if session is not None:
            self._stats = self._stats.plus(resumed=session.session.resumed)
        return session

    def root(self, seed: Any) -> Flow[Any]:
        """Returns the state to give the environment's generator before it is reset (see `RecoveryStrategy.root`)."""
        return self.strategy.root(seed)

    def is_loss(self, error: RemoteError) -> bool:
        """Returns whether the session is lost, by what a request ended with."""
        return self.session is not None and self.strategy.concerns(error)

    def serve_again(self, operation: Operation[Any], error: RemoteError) -> Flow[Any]:
        """Recovers from a lost session and serves a request; what becomes of it is the strategy's to say.

        Args:
            operation: What was asked.
            error: How the session was lost.

        Raises:
            RemoteError: It cannot be served.
        """
        attempt = 0
        while True:
            attempt += 1
            yield LetGo()
            self._stats = self._stats.plus(lost=1)
            yield from self.strategy.recover(self._label, operation, error, attempt)
            self._stats = self._stats.plus(recovered=1)
            try:
                return (yield Ask(operation))
            except RemoteError as again:
                if not self.is_loss(again):
                    raise
                error = again

    def lose(self) -> Flow[None]:
        """Lets go of a session that is lost, and is not to be recovered."""
        yield LetGo()
        self._stats = self._stats.plus(lost=1)

    def missing(self) -> Exception:
        """Returns the error for a request where there is no session."""
        return not_live(self)
