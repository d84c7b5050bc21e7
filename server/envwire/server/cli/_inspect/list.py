"""`envwire list`: lists the environments of a server."""

from __future__ import annotations

import contextlib
import json
from typing import TYPE_CHECKING, Any

import typer

from envwire.server.cli._failures import reporting
from envwire.server.cli._parameters import AsJson, Target

if TYPE_CHECKING:
    from envwire.v1 import environment_pb2

_ANSWER_SECONDS = 5.0
_COLUMNS = ("environment", "library", "episode steps", "reward threshold")


def list_environments(target: Target, as_json: AsJson = False) -> None:
    """List the environments that the server at TARGET hosts.

    In a pipe each line has an id, its library, its episode steps and its reward threshold, separated by tabs.

    Example: envwire list localhost:50051 | grep ALE/
    """
    from envwire.client._errors import checked
    from envwire.client._transports.by_name import open_transport
    from envwire.client._transports.transport import call
    from envwire.server.cli._console import print_table
    from envwire.v1 import environment_pb2 as pb

    requests = (
        pb.InteractRequest(list_environments=pb.ListEnvironmentsRequest()),
        pb.InteractRequest(get_server_info=pb.GetServerInfoRequest()),
    )
    with reporting("list"), contextlib.closing(open_transport("unary", target, None)) as transport:
        listing, info = (checked(call(transport, each, _ANSWER_SECONDS)) for each in requests)
    server = info.get_server_info
    rows = [_row(entry) for entry in listing.list_environments.environments]
    if as_json:
        names = ("version", "active_sessions", "max_sessions", "draining")
        told = {name: getattr(server, name) for name in names}
        typer.echo(json.dumps({"server": told, "environments": rows}, indent=2))
        return
    used = f"{server.active_sessions} of {server.max_sessions} sessions in use"
    draining = ", draining" if server.draining else ""
    cells = ([*map(_cell, row.values())] for row in rows)
    print_table(_COLUMNS, cells, f"envwire {server.version}: {used}{draining}")


def _row(entry: environment_pb2.EnvironmentListing) -> dict[str, Any]:
    """Returns an environment as a JSON object, with None for what its library does not say."""
    spec = entry.spec
    kind = str(spec.reward_threshold.WhichOneof("kind"))
    is_number = kind in {"int_value", "float_value"}
    return {
        "id": spec.id,
        "library": entry.library,
        "max_episode_steps": spec.max_episode_steps if spec.HasField("max_episode_steps") else None,
        "reward_threshold": float(getattr(spec.reward_threshold, kind)) if is_number else None,
    }


def _cell(value: Any) -> str:
    if value is None:
        return "-"
    return f"{value:g}" if isinstance(value, float) else str(value)
