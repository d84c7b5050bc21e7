"""Makes sessions on the first server of a list that answers and has capacity."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from envwire.client._drivers.blocking import BlockingDriver
from envwire.client._drivers.silence import Verdict, WatchedTransport, silence_is_loss
from envwire.client._errors.faults import note_making
from envwire.client._recovery.strategies import RecoveryStrategy
from envwire.client._session.client_session import ClientSession
from envwire.client._session.recording.recording import Recording
from envwire.client._transports.servers import Servers
from envwire.client._transports.transport import Probeable, Transport
from envwire.codec import Family
from envwire.v1 import environment_pb2 as pb

#: Seconds for which a server that refuses connections is retried when there are others.
_REFUSED_ELSEWHERE_SECONDS = 0.2


class Made(NamedTuple):
    """A session that was made.

    Attributes:
        target: Where it was asked for.
        driver: Drives it.
        answer: What the server says of it.
    """

    target: str | None
    driver: BlockingDriver
    answer: pb.MakeResponse

    @property
    def relayed(self) -> bool:
        """Whether another address answers than the one that was asked: that was a gateway, which knows others."""
        return self.answer.address not in {"", self.target}


class SessionPlan:
    """What sessions of one environment are like. No I/O.

    Args:
        request: How the environment is made.
        family: Classes to build of.
        timeout: Seconds to wait for an answer; None for a little more than the server allows itself.

    Attributes:
        request: How the environment is made.
        label: Names its sessions.
    """

    def __init__(self, request: pb.MakeRequest, family: Family, timeout: float | None) -> None:
        self.request = request
        self.label = f"<remote {request.env_id}>"
        self._family = family
        self._timeout = timeout

    def session(self, recording: Recording | None, *, moves: bool) -> ClientSession:
        """Returns a session that is not made yet.

        Args:
            recording: Takes what changes the environment.
            moves: Whether it is made on another server when its own is gone.
        """
        vector = self.request.HasField("vector")
        session = ClientSession(self._family, self._timeout, recording, vector=vector)
        if moves:
            session.expect_others(_REFUSED_ELSEWHERE_SECONDS)
        return session

    def copy_request(self, origin: pb.SessionHeader) -> pb.MakeRequest:
        """Returns the request for a copy of a session's environment."""
        request = pb.MakeRequest()
        request.CopyFrom(self.request)
        request.copy_of.CopyFrom(origin)
        return request


class SessionMaker:
    """Makes the sessions of one environment.

    Args:
        servers: Who may make it.
        plan: What its sessions are like.
        watch: Whether threads watch for servers that fall silent; an event loop watches for itself.
    """

    def __init__(self, servers: Servers, plan: SessionPlan, *, watch: bool = True) -> None:
        self._servers = servers
        self._plan = plan
        self._watch = watch

    def moves(self, strategy: RecoveryStrategy) -> bool:
        """Returns whether a session is made on another server when its own falls silent."""
        return strategy.moves and len(self._servers.targets) > 1

    def verdict(self, strategy: RecoveryStrategy, made: Made) -> Verdict | None:
        """Returns what says whether a session is lost when its server is silent; None when it can only wait."""
        if self.moves(strategy):
            return silence_is_loss
        if not strategy.moves or made.target is None or not made.relayed:
            return None
        return partial(self._servers.pronounced_dead, made.target, made.answer.session_id)

    def make(self, strategy: RecoveryStrategy, last: str | None = None) -> Made:
        """Makes a session.

        Args:
            strategy: What becomes of it when its session is lost.
            last: A target to try behind the others.

        Raises:
            RemoteError: No server makes it.
            Exception: Whatever the environment raised while it was made.
        """
        return self._servers.make(self._maker(self._plan.request, strategy), last)

    def make_copy(
        self, target: str | None, origin: pb.SessionHeader, strategy: RecoveryStrategy
    ) -> Made:
        """Makes a copy of a session on its server.

        Raises:
            InvalidRequestError: UNSUPPORTED: the session cannot be copied.
        """
        make = self._maker(self._plan.copy_request(origin), strategy)
        return make(target, self._servers.open(target))

    def _maker(
        self, request: pb.MakeRequest, strategy: RecoveryStrategy
    ) -> Callable[[str | None, Transport], Made]:
        def make(target: str | None, transport: Transport) -> Made:
            moves = self.moves(strategy)
            if moves and self._watch and isinstance(transport, Probeable):
                transport = WatchedTransport(transport)
            session = self._plan.session(strategy.recording, moves=moves)
            driver = BlockingDriver(session, transport, self._plan.label)
            try:
                made = driver.make(request)
            except BaseException as error:
                driver.kill()
                note_making(error, request.env_id)
                raise
            found = Made(target, driver, made)
            if strategy.moves and found.relayed:
                session.expect_others(_REFUSED_ELSEWHERE_SECONDS)
            verdict = None if moves or not self._watch else self.verdict(strategy, found)
            if verdict is not None and isinstance(transport, Probeable):
                driver.use(WatchedTransport(transport, verdict))
            return found

        return make
