"""AdminService of a server: lists sessions, ends one, drains the server."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from heapq import nsmallest
from operator import attrgetter

from google.protobuf.message import Message

from envwire.admin.v1 import admin_pb2
from envwire.codec.errors.statuses import draining_notice
from envwire.codec.messages import to_duration, to_seconds
from envwire.server._auth.client import Client
from envwire.server._front.sessions.record import SessionRecord
from envwire.server._front.sessions.table import Sessions
from envwire.server._ipc.refusals import PROTOS, check_name, malformed, page_size
from envwire.v1 import environment_pb2 as pb
from envwire.v1 import status_pb2


class DrainOrder:
    """The order to drain and stop the server. It takes effect once; giving it again changes nothing.

    Args:
        timeout: Seconds that sessions have to end, unless the order says otherwise.

    Attributes:
        given: Whether it was given.
        on_given: Called when it is given.
    """

    def __init__(self, timeout: float) -> None:
        self._timeout = timeout
        self.given = False
        self.on_given: Callable[[], None] = lambda: None

    def give(self, timeout: float | None = None) -> float:
        """Gives the order.

        Args:
            timeout: Seconds that sessions have to end; None for the server's setting.

        Returns:
            The seconds that they have, by this order or an earlier one.
        """
        if not self.given:
            self.given = True
            self._timeout = self._timeout if timeout is None else timeout
            self.on_given()
        return self._timeout


class Notices:
    """The notices that a server sends to all clients along with its answers.

    Args:
        clock: Monotonic time, in seconds.

    Attributes:
        draining: Whether there are any: the server is about to stop.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._stops_at: float | None = None
        self.draining = False

    def drain(self, seconds: float) -> None:
        """Adds the notice that the server stops in `seconds`. A second call changes nothing."""
        if self._stops_at is None:
            self._stops_at = self._clock() + seconds
            self.draining = True

    def response_suffix(self) -> bytes:
        """Returns the bytes to append to an InteractResponse; empty without a notice."""
        if self._stops_at is None:
            return b""
        return pb.InteractResponse(notices=self._notices(self._stops_at)).SerializeToString()

    def trailing_metadata(self) -> bytes:
        """Returns the NoticeList for a unary call's trailing metadata; empty without a notice."""
        if self._stops_at is None:
            return b""
        return status_pb2.NoticeList(notices=self._notices(self._stops_at)).SerializeToString()

    def _notices(self, stops_at: float) -> list[status_pb2.Notice]:
        return [draining_notice(stops_at - self._clock())]


class AdminService:
    """Serves envwire.admin.v1.

    Args:
        sessions: The server's sessions.
        drain_order: The order to drain the server.

    Attributes:
        answers: The function of each method, by its name in the table of scopes.
    """

    def __init__(self, sessions: Sessions, drain_order: DrainOrder) -> None:
        self._sessions = sessions
        self._drain_order = drain_order
        self.answers: dict[str, Callable[[bytes, Client], Awaitable[Message]]] = {
            "list_sessions": self._list_sessions,
            "end_session": self._end_session,
            "drain_server": self._drain_server,
        }

    async def _list_sessions(self, raw: bytes, _: Client) -> admin_pb2.ListSessionsResponse:
        request = admin_pb2.ListSessionsRequest.FromString(raw)
        _check_no_server(request.server_id)
        most = page_size(request)
        rest = (each for each in self._sessions if each.id > request.page_token)
        page = nsmallest(most + 1, rest, key=attrgetter("id"))
        listed, now = page[:most], self._sessions.clock()
        return admin_pb2.ListSessionsResponse(
            sessions=[_summary(each, now) for each in listed],
            next_page_token=listed[-1].id if len(page) > most else "",
            total=len(self._sessions),
        )

    async def _end_session(self, raw: bytes, _: Client) -> admin_pb2.EndSessionResponse:
        session_id = admin_pb2.EndSessionRequest.FromString(raw).session_id
        check_name("session_id", session_id)
        self._sessions.terminate(session_id)
        return admin_pb2.EndSessionResponse()

    async def _drain_server(self, raw: bytes, _: Client) -> admin_pb2.DrainServerResponse:
        request = admin_pb2.DrainServerRequest.FromString(raw)
        _check_no_server(request.server_id)
        asked = to_seconds(request.timeout)
        if asked < 0:
            raise malformed(f"timeout is {asked:g} s; it must be 0 or more", PROTOS)
        timeout = self._drain_order.give(asked if request.HasField("timeout") else None)
        return admin_pb2.DrainServerResponse(
            sessions=len(self._sessions), timeout=to_duration(timeout)
        )


def _summary(session: SessionRecord, now: float) -> admin_pb2.SessionSummary:
    seen = session.counters
    idle = 0.0 if session.liveness.attached else now - session.liveness.lease_runs_from
    return admin_pb2.SessionSummary(
        session_id=session.id,
        env_id=session.env_id,
        client=session.owner,
        state=admin_pb2.SessionSummary.State.Value(session.state),
        age=to_duration(now - session.began),
        idle=to_duration(max(0.0, idle)),
        lease=to_duration(session.liveness.lease),
        process_id=session.process.pid,
        requests=seen.requests,
        serving=to_duration(seen.serving / 1e9),
        stepping=to_duration(seen.stepping / 1e9),
    )


def _check_no_server(server_id: str) -> None:
    if server_id:
        raise malformed(
            f"this is a server, not a gateway, and knows no server {server_id!r}; leave out server_id (--server)",
            PROTOS,
        )
