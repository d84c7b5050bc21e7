"""Where an environment lives: whichever session holds it now, and what becomes of it when that session is lost."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from functools import partial
from typing import Any

from envwire.client._recovery.strategies import LossPolicy
from envwire.client._session import lifetime as _lifetime
from envwire.client._session.remote_session import RemoteSession
from envwire.client._session.stats import ConnectionStats
from envwire.client._transports.servers import Servers
from envwire.client._transports.transport import Transport
from envwire.client.errors import RemoteError, not_live
from envwire.codec import Family
from envwire.v1 import environment_pb2 as pb


class Home:
    """The place of one environment.

    Args:
        servers: Who may make it.
        request: How it is made.
        policy: What becomes of it when its session is lost.
        family: Classes to build spaces and errors of.
        timeout: Seconds to wait for a reply; None for a little more than the server allows itself.

    Attributes:
        session: The session; None when it is closed or lost.
        lineage: Another object whenever the environment is made as a new one.
    """

    def __init__(
        self,
        servers: Servers,
        request: pb.MakeRequest,
        policy: LossPolicy,
        family: Family,
        timeout: float | None,
    ) -> None:
        self.policy = policy
        self.session: RemoteSession | None = None
        self.lineage = object()
        self._servers = servers
        self._request = request
        self._family = family
        self._timeout = timeout
        self._label = f"<remote {request.env_id}>"
        self._target: str | None = None
        self._stats = ConnectionStats()

    def __str__(self) -> str:
        return self._label

    def make(self) -> pb.MakeResponse:
        """Makes the environment, as a new one."""
        self.policy.begin()
        self.lineage = object()
        return self._servers.make(partial(self._make_at, self._request))

    def make_session(self) -> RemoteSession:
        """Makes the environment again, in a session that takes the place of the lost one."""
        self._servers.make(partial(self._make_at, self._request))
        return self.live()

    def copy(self) -> Home:
        """Returns a place for a copy of the environment, which nobody lives in yet."""
        return Home(self._servers, self._request, self.policy.copy(), self._family, self._timeout)

    def fork(self, origin: RemoteSession, twin: Home) -> None:
        """Lets the server make a copy of the session that lives here.

        Args:
            origin: The session.
            twin: Where the copy is to live.

        Raises:
            InvalidRequestError: UNSUPPORTED: the session cannot be copied.
        """
        request = pb.MakeRequest()
        request.CopyFrom(self._request)
        request.copy_of.CopyFrom(origin.reference)
        twin._make_at(request, self._target, self._servers.open(self._target))

    def _make_at(
        self, request: pb.MakeRequest, target: str | None, transport: Transport
    ) -> pb.MakeResponse:
        recording = self.policy.recording
        session = RemoteSession(transport, self._family, self._timeout, self._label, recording)
        try:
            made = session.make(request)
        except BaseException:
            session.drop()
            raise
        _lifetime.look_after(self, session)
        self.session, self._target = session, target
        return made

    @property
    def vacant(self) -> bool:
        """Whether this process has no session here: it is closed or lost, or belongs to a parent process."""
        return self.session is None or self.session.pid != os.getpid()

    def live(self) -> RemoteSession:
        """Returns the session of this process.

        Raises:
            SessionClosedError: There is none; `reset()` makes one.
        """
        session = self.session
        if session is None:
            raise not_live(self)
        if session.pid != os.getpid():
            raise not_live(self, session.pid)
        return session

    def serve(self, request: Callable[..., Any], *args: Any) -> Any:
        """Serves a request; what becomes of it when the session turns out to be lost is the policy's to say.

        Args:
            request: Called with the session and `args`: a method of `RemoteSession`.
            args: The arguments behind the session.
        """
        attempt = 0
        while True:
            try:
                return request(self.live(), *args)
            except RemoteError as error:  # noqa: PERF203 - the loop is for lost sessions
                if self.session is None or not self.policy.concerns(error):
                    raise
                self.let_go()
                attempt += 1
                self._stats = self._stats.plus(lost=1)
                self.policy.recover(self, request, error, attempt)
                self._stats = self._stats.plus(recovered=1)

    @property
    def stats(self) -> ConnectionStats:
        """What connections and sessions here went through."""
        resumed = 0 if self.session is None else self.session.resumed
        return self._stats.plus(resumed=resumed)

    def let_go(self, *, close: bool = False) -> None:
        """Lets go of the session, and closes one that is there still."""
        session = self.take()
        if session is None or session.pid != os.getpid():
            return
        if close:
            with contextlib.suppress(RemoteError):
                session.close()
        session.drop()

    def take(self) -> RemoteSession | None:
        """Takes the session out, for whoever closes it."""
        session, self.session = self.session, None
        if session is not None:
            self._stats = self._stats.plus(resumed=session.resumed)
            _lifetime.forget(session)
        return session
