"""Making sessions, at whichever server answers and has room."""

from __future__ import annotations

from collections.abc import Callable

from envwire.client._drivers.blocking import BlockingDriver
from envwire.client._session.client_session import ClientSession
from envwire.client._session.recording import Recording
from envwire.client._transports.servers import Servers
from envwire.client._transports.transport import Transport
from envwire.codec import Family
from envwire.v1 import environment_pb2 as pb

#: Where there are other servers, one that refuses connections is tried for so many seconds.
_REFUSED_ELSEWHERE_SECONDS = 0.2


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

    def session(self, recording: Recording | None, *, alone: bool) -> ClientSession:
        """Returns a session that is not made yet.

        Args:
            recording: Takes what changes the environment.
            alone: Whether there is no other server to go to.
        """
        vector = self.request.HasField("vector")
        session = ClientSession(self._family, self._timeout, recording, vector=vector)
        if recording is not None and not alone:
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
    """

    def __init__(self, servers: Servers, plan: SessionPlan) -> None:
        self._servers = servers
        self._plan = plan

    def make(
        self, recording: Recording | None, last: str | None = None
    ) -> tuple[str | None, BlockingDriver, pb.MakeResponse]:
        """Makes a session; returns the target that it is on, its driver, and what the server says of it.

        Args:
            recording: Takes what changes the environment; None to record nothing.
            last: A target to try behind the others.

        Raises:
            RemoteError: No server makes it.
            Exception: Whatever the environment raised while it was made.
        """
        return self._servers.make(self._maker(self._plan.request, recording), last)

    def make_copy(
        self, target: str | None, origin: pb.SessionHeader, recording: Recording | None
    ) -> tuple[BlockingDriver, pb.MakeResponse]:
        """Makes a copy of a session on its server.

        Raises:
            InvalidRequestError: UNSUPPORTED: the session cannot be copied.
        """
        make = self._maker(self._plan.copy_request(origin), recording)
        return make(target, self._servers.open(target))[1:]

    def _maker(
        self, request: pb.MakeRequest, recording: Recording | None
    ) -> Callable[[str | None, Transport], tuple[str | None, BlockingDriver, pb.MakeResponse]]:
        def make(
            target: str | None, transport: Transport
        ) -> tuple[str | None, BlockingDriver, pb.MakeResponse]:
            alone = len(self._servers.targets) == 1
            session = self._plan.session(recording, alone=alone)
            driver = BlockingDriver(session, transport, self._plan.label)
            try:
                return target, driver, driver.make(request)
            except BaseException:
                driver.kill()
                raise

        return make

    def watch(self, session: BlockingDriver, target: str | None) -> None:
        """Has a session's server probed while an answer is late, where there is another server to go to."""
        del session, target
