"""Makes sessions on the first server of a list that answers and has capacity."""

from __future__ import annotations

import math
from functools import partial
from typing import NamedTuple

from envwire.client._drivers.blocking import BlockingDriver
from envwire.client._drivers.failure_detection import FailureDetector, GatewayDetector
from envwire.client._drivers.watched import WatchedTransport
from envwire.client._errors import note_making
from envwire.client._recovery.strategies import RecoveryStrategy
from envwire.client._session.client_session import ClientSession
from envwire.client._session.recording import Recording
from envwire.client._transports.servers import Servers
from envwire.client._transports.transport import Transport
from envwire.codec import Family
from envwire.v1 import environment_pb2 as pb

#: How long to retry a server that refuses connections, if there are other servers.
_REFUSED_ELSEWHERE_SECONDS = 0.2
#: What a gateway adds to the capabilities of a session whose client reaches the server through the gateway only.
_RELAYED = "relayed"


class NewSession(NamedTuple):
    """A session that was made.

    Attributes:
        target: The target that was asked to make it.
        driver: Its driver.
        answer: The answer to its Make.
    """

    target: str | None
    driver: BlockingDriver
    answer: pb.MakeResponse

    @property
    def relayed(self) -> bool:
        """Whether the target is a gateway, through which alone the session is reached."""
        return _RELAYED in self.answer.capabilities

    @property
    def elsewhere(self) -> bool:
        """Whether the session is not at the target, which then is a gateway to several servers."""
        return self.relayed or self.answer.address not in {"", self.target}


class SessionMaker:
    """Makes the sessions of one environment.

    Args:
        servers: The servers that may make it.
        request: The Make of its sessions.
        family: Classes to build values of.
        watch: Whether threads detect servers that have stopped answering; asyncio drivers do that themselves.

    Attributes:
        label: Names the sessions.
    """

    def __init__(
        self, servers: Servers, request: pb.MakeRequest, family: Family, *, watch: bool = True
    ) -> None:
        self.label = f"<remote {request.env_id}>"
        self._servers = servers
        self._request = request
        self._family = family
        self._watch = watch

    def _moves(self, strategy: RecoveryStrategy) -> bool:
        """Returns whether a session is made on another server if its own stops answering."""
        return strategy.moves and len(self._servers.targets) > 1

    def detector(self, strategy: RecoveryStrategy, made: NewSession) -> FailureDetector | None:
        """Returns what decides whether a silent server is lost; None if there is no other server."""
        if self._moves(strategy):
            return FailureDetector()
        if not strategy.moves or made.target is None or not made.elsewhere:
            return None
        return GatewayDetector(self._servers.options.credentials, made.target, made.answer)

    def make(self, strategy: RecoveryStrategy, last: str | None = None) -> NewSession:
        """Makes a session.

        Args:
            strategy: Decides what happens when it is lost.
            last: The target of the lost session that this one replaces, to try last.

        Raises:
            RemoteError: No server makes it.
            Exception: Any exception of the environment while it is made.
        """
        return self._servers.make(partial(self._make, self._request, strategy), last)

    def make_copy(
        self, target: str | None, origin: pb.SessionHeader, strategy: RecoveryStrategy
    ) -> NewSession:
        """Makes a copy of a session on its server.

        Raises:
            InvalidRequestError: UNSUPPORTED: the session cannot be copied.
        """
        request = pb.MakeRequest()
        request.CopyFrom(self._request)
        request.copy_of.CopyFrom(origin)
        return self._make(request, strategy, target, self._servers.open(target))

    def _make(
        self,
        request: pb.MakeRequest,
        strategy: RecoveryStrategy,
        target: str | None,
        transport: Transport,
    ) -> NewSession:
        moves = self._moves(strategy)
        timeout, vector = self._servers.options.timeout, request.HasField("vector")
        unwatched = transport
        if moves and self._watch:
            transport = WatchedTransport(transport, FailureDetector())
        session = self._session(unwatched, timeout, strategy.recording, vector)
        if moves:
            session.retries.refused_span = _REFUSED_ELSEWHERE_SECONDS
        driver = BlockingDriver(session, transport)
        try:
            made = NewSession(target, driver, driver.make(request))
        except BaseException as error:
            driver.kill()
            note_making(error, request)
            raise
        if made.relayed and not moves:  # a gateway that is gone says nothing of the session
            session.retries.refused_span = math.inf
        elif strategy.moves and made.elsewhere:
            session.retries.refused_span = _REFUSED_ELSEWHERE_SECONDS
        detector = None if moves or not self._watch else self.detector(strategy, made)
        if detector is not None:
            driver.transport = WatchedTransport(transport, detector)
        return made

    def _session(
        self, transport: Transport, timeout: float | None, recording: Recording | None, vector: bool
    ) -> ClientSession:
        """Returns a session that is not made yet; its transport then shares the memory of its device."""
        device = self._servers.options.new_device(recorded=recording is not None)
        if device is None:
            return ClientSession(self._family, timeout, recording, self.label, vector=vector)
        transport.share(device)
        from envwire.client._session.client_device import DeviceSession

        return DeviceSession(device, self._family, timeout, recording, self.label, vector=vector)
