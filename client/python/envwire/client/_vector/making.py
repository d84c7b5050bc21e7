"""Making the sessions of a vector environment, on one or many servers."""

from __future__ import annotations

import os
import weakref
from collections.abc import Sequence
from typing import Any

from envwire.client._drivers.concurrently import at_once
from envwire.client._session import lifetime as _lifetime
from envwire.client._session.recording import Recording
from envwire.client._transports.by_name import open_transport
from envwire.client._transports.servers import Servers
from envwire.client._transports.transport import Transport, call
from envwire.client._vector.env_info import NATIVE
from envwire.client._vector.layout import Capacity, Share, lay_out
from envwire.client._vector.session import VectorSession
from envwire.client.credentials import Credentials
from envwire.codec import Family
from envwire.v1 import environment_pb2 as pb

_INFO_SECONDS = 60.0


class Maker:
    """Makes sessions.

    Args:
        target: HOST:PORT of the server, or several.
        transport: Name of a transport, or the one to use.
        connect_timeout: Seconds to wait for a server to appear.
        credentials: Certificates and token.
        request: What to make, but for the number of environments.
        family: Classes to build of.
        timeout: Seconds to wait for an answer; None for a little more than the server allows itself.
    """

    def __init__(
        self,
        target: str | Sequence[str] | None,
        transport: str | Transport | None,
        connect_timeout: float,
        credentials: Credentials | None,
        request: pb.MakeRequest,
        family: Family,
        timeout: float | None,
    ) -> None:
        self.targets: list[str | None] = (
            [target] if isinstance(target, str) or target is None else list(target)
        )
        self._shared = isinstance(transport, Transport)
        self._arguments = transport, connect_timeout, credentials
        self._request = request
        self._family = family
        self._timeout = timeout
        self._opened: dict[int, Transport] = {}

    def lay_out(self, num_envs: int, sessions: int | None, batch_size: int) -> list[Share]:
        """Returns which environments each session is to have (see `envwire.client._vector.layout.lay_out`).

        Raises:
            ValueError: The numbers do not go together.
        """
        known = sessions is not None
        capacities = [Capacity(1, 0)] * len(self.targets) if known else self._look_at_all()
        shares = lay_out(num_envs, sessions, batch_size, capacities)
        if self._shared and len(shares) > 1:
            raise ValueError("an open transport takes one session; name a transport for more")
        return shares

    def _look_at_all(self) -> list[Capacity]:
        """Returns what the servers say of themselves; the transports to them are kept for their first sessions."""
        if self._shared:
            return [Capacity(1, 0)]
        return at_once(self._look, range(len(self.targets)))

    def _look(self, place: int) -> Capacity:
        transport = self._opened[place] = self._open(place)
        request = pb.InteractRequest(get_server_info=pb.GetServerInfoRequest())
        info = call(transport, request, self._timeout or _INFO_SECONDS).get_server_info
        # What steps as arrays steps many environments in hardly more time than one, and draws from one generator.
        native = self._request.vector.vectorization_mode == NATIVE
        return Capacity(1 if native else max(1, info.cpu_count), info.max_envs_per_session)

    def _open(self, place: int) -> Transport:
        transport, connect_timeout, credentials = self._arguments
        return open_transport(transport, self.targets[place], connect_timeout, credentials)

    def recording(self, limit: int) -> Recording:
        """Returns a recording of one session's requests, so many at most."""
        mode = self._request.render_mode if self._request.HasField("render_mode") else None
        return Recording(limit, mode)

    def make(
        self, share: Share, recording: Recording | None = None
    ) -> tuple[VectorSession, pb.MakeResponse]:
        """Makes a session for these environments.

        Args:
            share: The environments.
            recording: Takes what changes them; None to record nothing.

        Raises:
            RemoteError: The server refused, or cannot be reached.
            Exception: Whatever an environment raised while it was made.
        """
        transport = self._opened.pop(share.place, None) or self._open(share.place)
        return self._make_over(transport, share, recording)

    def make_again(
        self, share: Share, recording: Recording | None = None
    ) -> tuple[VectorSession, pb.MakeResponse]:
        """Does as `make`, on another of the servers where theirs is gone or has no room."""
        targets = self.targets[share.place :] + self.targets[: share.place]
        servers = Servers(targets, *self._arguments)
        return servers.make(lambda _, transport: self._make_over(transport, share, recording))

    def _make_over(
        self, transport: Transport, share: Share, recording: Recording | None
    ) -> tuple[VectorSession, pb.MakeResponse]:
        label = f"<remote {self._request.env_id}>"
        session = VectorSession(transport, self._family, self._timeout, label, recording)
        request = pb.MakeRequest()
        request.CopyFrom(self._request)
        request.vector.num_envs = share.size
        try:
            return session, session.make(request)
        except BaseException:
            session.drop()
            raise

    def close(self) -> None:
        """Frees the transports that no session took."""
        while self._opened:
            self._opened.popitem()[1].close()


class Owner:
    """Whose sessions they are, for their life and death.

    Args:
        env: The vector environment. It is not kept alive.
    """

    def __init__(self, env: Any) -> None:
        self._env = weakref.ref(env)

    def __str__(self) -> str:
        env = self._env()
        return "a vector environment that is gone" if env is None else str(env)

    def take(self, session: VectorSession) -> None:
        """Has the session closed when the environment is collected, and its lease kept until then."""
        if (env := self._env()) is not None:
            _lifetime.look_after(env, session)

    def leave(self, session: VectorSession) -> None:
        """Lets go of a session that is no more, or is another process's."""
        if session.pid == os.getpid():
            _lifetime.forget(session)
            session.drop()
