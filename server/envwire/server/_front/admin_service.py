"""AdminService of a server: lists sessions, ends one, drains the server."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from heapq import nsmallest
from operator import attrgetter

from google.protobuf.message import Message

from envwire.admin.v1 import admin_pb2 as pb
from envwire.codec.durations import to_duration, to_seconds
from envwire.server._auth.client import Client
from envwire.server._front.admin_requests import PROTOS, check_name, page_size
from envwire.server._front.draining import DrainOrder
from envwire.server._front.sessions.record import SessionRecord
from envwire.server._front.sessions.table import Sessions
from envwire.server._ipc.fault_replies import malformed


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

    async def _list_sessions(self, raw: bytes, _: Client) -> pb.ListSessionsResponse:
        request = pb.ListSessionsRequest.FromString(raw)
        _check_no_server(request.server_id)
        most = page_size(request)
        rest = (each for each in self._sessions if each.id > request.page_token)
        page = nsmallest(most + 1, rest, key=attrgetter("id"))
        listed, now = page[:most], self._sessions.clock()
        return pb.ListSessionsResponse(
            sessions=[_summary(each, now) for each in listed],
            next_page_token=listed[-1].id if len(page) > most else "",
            total=len(self._sessions),
        )

    async def _end_session(self, raw: bytes, _: Client) -> pb.EndSessionResponse:
        session_id = pb.EndSessionRequest.FromString(raw).session_id
        check_name("session_id", session_id)
        self._sessions.terminate(session_id)
        return pb.EndSessionResponse()

    async def _drain_server(self, raw: bytes, _: Client) -> pb.DrainServerResponse:
        request = pb.DrainServerRequest.FromString(raw)
        _check_no_server(request.server_id)
        asked = to_seconds(request.timeout)
        if asked < 0:
            raise malformed(f"timeout is {asked:g} s; it must be 0 or more", PROTOS)
        timeout = self._drain_order.give(asked if request.HasField("timeout") else None)
        return pb.DrainServerResponse(sessions=len(self._sessions), timeout=to_duration(timeout))


def _summary(session: SessionRecord, now: float) -> pb.SessionSummary:
    seen = session.counters
    idle = 0.0 if session.liveness.attached else now - session.liveness.lease_runs_from
    return pb.SessionSummary(
        session_id=session.id,
        env_id=session.env_id,
        client=session.owner,
        state=pb.SessionSummary.State.Value(session.state),
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
