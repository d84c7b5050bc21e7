"""`envwire top`: live view of a farm's servers or a server's sessions."""

from __future__ import annotations

import contextlib
import itertools
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import typer

from envwire.server._grammar import counted
from envwire.server.cli._inspect import sessions
from envwire.server.cli._inspect.asking import asking
from envwire.server.cli._parameters import target_argument

if TYPE_CHECKING:
    from rich.console import RenderableType

    from envwire.farm.v1 import farm_pb2


COLUMNS = (
    "server",
    "state",
    "sessions",
    "of",
    "ids",
    "silent",
    "pid",
    "version",
    "labels",
)


def cells(server: farm_pb2.ServerStatus) -> list[str]:
    """Returns a server as a table row."""
    from envwire.codec.messages import state_name, to_seconds
    from envwire.farm.v1 import farm_pb2

    labels = ",".join(f"{name}={value}" for name, value in sorted(server.labels.items()))
    return [
        f"{server.server_id} (tunnel)" if server.tunnelled else server.address,
        state_name(farm_pb2.ServerStatus.State.Name(server.state)),
        str(server.active_sessions),
        str(server.max_sessions),
        str(server.environment_count),
        f"{to_seconds(server.silence):.1f} s",
        str(server.pid or "-"),
        server.version,
        labels or "-",
    ]


def summary(answer: farm_pb2.ListServersResponse) -> str:
    """Returns a one-sentence summary of a farm."""
    active = sum(server.active_sessions for server in answer.servers)
    slots = sum(server.max_sessions for server in answer.servers)
    waiting = f", {counted(answer.waiting, 'Make', 'wait')}" if answer.waiting else ""
    tunnelled = sum(server.tunnelled for server in answer.servers)
    slower = f"; {tunnelled} through tunnels, where steps take longer" if tunnelled else ""
    return f"{counted(len(answer.servers), 'server')}: {active} of {slots} sessions in use{waiting}{slower}"


_Ask = Callable[[str, Any], Any]
#: Most rows to show; further ones are only counted.
_MAX_ROWS = 200


def top(
    target: Annotated[
        str, target_argument("HOST:PORT of a gateway or a server.")
    ] = "localhost:50050",
    every: Annotated[float, typer.Option(min=0.1, help="Seconds between two looks.")] = 2.0,
    count: Annotated[int, typer.Option(min=0, help="Looks; 0 to go on until Ctrl-C.")] = 0,
) -> None:
    """Show the servers of the farm at TARGET, or the sessions of a single server, and keep it up to date.

    Example: envwire top localhost:50050
    """
    from rich.live import Live

    from envwire.server.cli._console import OperatorConsole

    console = OperatorConsole()
    with (
        asking("top", target, _Services) as ask,
        Live(console=console, auto_refresh=False) as live,
        contextlib.suppress(KeyboardInterrupt),
    ):
        # Live writes to a terminal only, so it would not notice that the other end of a pipe is closed.
        show = partial(live.update, refresh=True) if console.is_terminal else console.print
        show(_picture(ask))
        for _ in itertools.count(1) if not count else range(1, count):
            time.sleep(every)
            show(_picture(ask))


class _Services:
    """The administration methods of gateways and servers, over one channel."""

    def __init__(self, channel: Any) -> None:
        from envwire.admin.v1 import admin_pb2_grpc
        from envwire.farm.v1 import farm_pb2_grpc

        self.ListServers = farm_pb2_grpc.FarmServiceStub(channel).ListServers
        self.ListSessions = admin_pb2_grpc.AdminServiceStub(channel).ListSessions


def _picture(ask: _Ask) -> RenderableType:
    """Renders the current state of a gateway or a server."""
    import grpc

    from envwire.admin.v1 import admin_pb2
    from envwire.farm.v1 import farm_pb2

    try:
        servers = ask("ListServers", farm_pb2.ListServersRequest())
    except grpc.RpcError as error:
        if not isinstance(error, grpc.Call) or error.code() is not grpc.StatusCode.UNIMPLEMENTED:
            raise
    else:
        rows = [cells(each) for each in servers.servers]
        return _table(COLUMNS, rows, summary(servers))
    page = ask("ListSessions", admin_pb2.ListSessionsRequest(page_size=_MAX_ROWS))
    rows = [sessions.cells(each) for each in page.sessions]
    return _table(sessions.COLUMNS, rows, counted(page.total, "session"))


def _table(columns: Sequence[str], rows: Sequence[Sequence[str]], summary: str) -> RenderableType:
    from envwire.server.cli._console import table_of

    table = table_of(columns, rows[:_MAX_ROWS])
    table.caption, table.caption_justify = summary, "left"
    return table
