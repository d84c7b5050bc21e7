"""`envwire sessions` and `envwire drain`: lists or ends sessions of a server or a farm, and drains a server."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from envwire.server._grammar import counted
from envwire.server.cli._failures import stop
from envwire.server.cli._inspect.asking import asking
from envwire.server.cli._parameters import AsJson, Target

if TYPE_CHECKING:
    from google.protobuf.duration_pb2 import Duration

    from envwire.admin.v1 import admin_pb2

_Server = Annotated[
    str,
    typer.Option(
        "--server",
        metavar="ID",
        help="Of a gateway, the server: its id or address.",
        show_default=False,
    ),
]
#: Columns of the list; a gateway's has an additional one, the server.
COLUMNS = ("session", "environment", "client", "state", "age", "idle", "requests", "process")


def sessions(
    target: Target,
    end: Annotated[
        str, typer.Option("--end", metavar="ID", help="End this session.", show_default=False)
    ] = "",
    server: _Server = "",
    as_json: AsJson = False,
) -> None:
    """List the sessions of the server or the farm at TARGET, or end one.

    Listing needs a token of scope inspect, ending one of scope admin.

    Example: envwire sessions localhost:50051

    In a pipe the columns are separated by tabs. If servers of a farm do not answer, they are named and the exit status
    is 1.
    """
    if end:
        _end(target, end)
        return
    listed = _listed(target, server)
    if as_json:
        _show_json(listed)
    else:
        _show(listed)
    if silent := [f"{each.server_id} ({each.why})" for each in listed.unanswered]:
        stop("sessions", f"no answer from {', '.join(silent)}")


def _listed(target: str, server: str) -> admin_pb2.ListSessionsResponse:
    """Returns all pages of the list as one."""
    from envwire.admin.v1 import admin_pb2, admin_pb2_grpc

    listed = admin_pb2.ListSessionsResponse()
    request = admin_pb2.ListSessionsRequest(server_id=server)
    with asking("sessions", target, admin_pb2_grpc.AdminServiceStub) as ask:
        while True:
            page: admin_pb2.ListSessionsResponse = ask("ListSessions", request)
            request.page_token = page.next_page_token
            page.ClearField("next_page_token")
            listed.MergeFrom(page)
            if not request.page_token:
                return listed


def _end(target: str, session_id: str) -> None:
    from envwire.admin.v1 import admin_pb2, admin_pb2_grpc

    with asking("sessions", target, admin_pb2_grpc.AdminServiceStub) as ask:
        ask("EndSession", admin_pb2.EndSessionRequest(session_id=session_id))
    typer.echo(f"session {session_id} has ended")


def _show_json(listed: admin_pb2.ListSessionsResponse) -> None:
    import json

    from google.protobuf.json_format import MessageToDict

    told = MessageToDict(listed, preserving_proto_field_name=True)
    typer.echo(json.dumps({"total": listed.total, "sessions": [], **told}, indent=2))


def _show(listed: admin_pb2.ListSessionsResponse) -> None:
    from envwire.server.cli._console import print_table

    columns: tuple[str, ...] = COLUMNS
    rows = [cells(session) for session in listed.sessions]
    if any(session.server_id for session in listed.sessions):
        columns = (*COLUMNS, "server")
        rows = [[*row, each.server_id] for row, each in zip(rows, listed.sessions, strict=True)]
    print_table(columns, rows, counted(listed.total, "session"))


def cells(session: admin_pb2.SessionSummary) -> list[str]:
    """Returns a session as a table row."""
    from envwire.admin.v1 import admin_pb2
    from envwire.codec.messages import state_name

    return [
        session.session_id,
        session.env_id,
        session.client,
        state_name(admin_pb2.SessionSummary.State.Name(session.state)),
        _seconds(session.age),
        _seconds(session.idle),
        str(session.requests),
        str(session.process_id),
    ]


def _seconds(duration: Duration) -> str:
    from envwire.codec.messages import to_seconds

    return f"{to_seconds(duration):.1f} s"


def drain(
    target: Target,
    timeout: Annotated[
        float | None,
        typer.Option(
            help="Seconds that sessions have to end; by default the server's --drain-timeout.",
            min=0,
            show_default=False,
        ),
    ] = None,
    server: _Server = "",
) -> None:
    """Drain the server at TARGET: refuse new sessions, wait for the open ones, then stop, as on SIGTERM.

    It needs a token of scope admin, in ENVWIRE_TOKEN. At a gateway, --server names the server to drain.

    Example: envwire drain localhost:50051 --timeout 600
    """
    from envwire.admin.v1 import admin_pb2, admin_pb2_grpc

    request = admin_pb2.DrainServerRequest(server_id=server)
    if timeout is not None:
        request.timeout.FromMilliseconds(round(timeout * 1000))
    answer: admin_pb2.DrainServerResponse
    with asking("drain", target, admin_pb2_grpc.AdminServiceStub) as ask:
        answer = ask("DrainServer", request)
    typer.echo(
        f"draining: {_seconds(answer.timeout)} for {counted(answer.sessions, 'session')} to end"
    )
