"""A server in the client's process, for tests: the same handlers, called directly instead of over sockets."""

from __future__ import annotations

import contextlib
import secrets
from collections.abc import Iterable
from typing import Any

from envwire.client._transports.transport import Transport
from envwire.codec import FaultError, Reason, fault_from_exception
from envwire.server._auth.allow_list import AllowList
from envwire.server._hosting.environment_making import describe, make_environment
from envwire.server._hosting.libraries import list_environments, load_catalogue
from envwire.server._ipc.refusals import SESSION_REQUESTS, fault_reply
from envwire.server._session.session import Session
from envwire.server._session.states import State
from envwire.v1 import environment_pb2 as pb
from envwire.wire.envelope import with_header, without_header
from envwire.wire.frames import Reply


class InProcessTransport(Transport):
    """Serves environments in the caller's own process, through the same messages that a server would receive.

    It isolates nothing: it is for tests, for debugging an environment behind a proxy, and for measuring the cost of
    messages. Pass it as `RemoteEnv(None, "CartPole-v1", transport=InProcessTransport(["CartPole-v1"]))`.

    Args:
        environments: Ids or shell patterns.
        imports: Modules that register environments.
        allow_wrappers: Wrappers beyond the libraries' own, "module:Class".

    Raises:
        LookupError: A pattern matches no registered id.
    """

    def __init__(
        self,
        environments: Iterable[str],
        *,
        imports: Iterable[str] = (),
        allow_wrappers: Iterable[str] = (),
    ) -> None:
        wrappers = tuple(allow_wrappers)
        self._catalogue = load_catalogue(environments, imports=imports, wrappers=wrappers)
        self._allow_list = AllowList(wrappers=frozenset(wrappers))
        self._sessions: dict[str, Session] = {}
        self._reply = Reply(b"")

    def exchange(self, request: bytes, timeout: float, header: bytes = b"") -> Reply:  # noqa: ARG002 - the caller's thread is not interrupted
        """Serves a request at once (see `Transport.exchange`); `timeout` has no effect."""
        try:
            return Reply(self._answer(with_header(request, header)))
        except Exception as error:
            fault = fault_from_exception(error, Reason.INTERNAL)
            return Reply(fault_reply(fault).SerializeToString())

    def send(self, request: bytes, timeout: float, header: bytes = b"") -> None:
        """Serves a request and keeps the reply (see `Transport.send`)."""
        self._reply = self.exchange(request, timeout, header)

    def receive(self) -> Reply:
        """Returns the reply to the last `send` (see `Transport.receive`)."""
        return self._reply

    def fileno(self) -> int:
        """Returns -1, since there is nothing to wait for."""
        return -1

    def _answer(self, raw: bytes) -> bytes:
        request = pb.InteractRequest.FromString(raw)
        kind = request.WhichOneof("request") or ""
        if kind in SESSION_REQUESTS:
            return self._relay(kind, getattr(request, kind), raw)
        if kind == "make":
            return self._make(request.make).SerializeToString()
        if kind == "list_environments":
            listing = list_environments(self._catalogue)
            return pb.InteractResponse(list_environments=listing).SerializeToString()
        raise FaultError(
            Reason.UNSUPPORTED, f"{kind or 'an empty request'} is not served in process"
        )

    def _make(self, request: pb.MakeRequest) -> pb.InteractResponse:
        if request.HasField("copy_of"):
            raise FaultError(
                Reason.UNSUPPORTED,
                "a session in process cannot be forked; it has no process of its own",
            )
        self._allow_list.check(request)
        env, family = make_environment(self._catalogue, request)
        made = describe(env, family)
        made.session_id = secrets.token_hex(16)
        made.step_timeout.FromSeconds(60)
        session = self._sessions[made.session_id] = Session(env, family)
        made.capabilities.extend(session.capabilities)
        return pb.InteractResponse(make=made)

    def _relay(self, kind: str, body: Any, raw: bytes) -> bytes:
        session_id = body.header.session_id
        session = self._sessions.get(session_id)
        if session is None and kind == "close":
            return pb.InteractResponse(close=pb.CloseResponse()).SerializeToString()
        if session is None:
            raise FaultError(Reason.UNKNOWN_SESSION, f"no session {session_id!r} in this process")
        reply = session.handle(without_header(raw)).message
        if session.state is State.CLOSED:
            del self._sessions[session_id]
        return reply

    def keep_alive(self, request: bytes, header: bytes = b"") -> None:
        """Does nothing, since sessions here have no leases."""

    def close(self) -> None:
        """Does nothing: sessions end when they are closed, and other sessions may still use the transport."""

    def close_sessions(self) -> None:
        """Closes the environments of all sessions that were not closed."""
        while self._sessions:
            _, session = self._sessions.popitem()
            with contextlib.suppress(Exception):
                session.end()
