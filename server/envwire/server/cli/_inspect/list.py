"""`envwire list`: lists the environments of a server."""

from __future__ import annotations

import contextlib

from envwire.server.cli._failures import reporting
from envwire.server.cli._parameters import AsJson, Target

_ANSWER_SECONDS = 5.0


def list_environments(target: Target, as_json: AsJson = False) -> None:
    """List the environments that the server at TARGET hosts.

    In a pipe each line has an id, its library, its episode steps and its reward threshold, separated by tabs.

    Example: envwire list localhost:50051 | grep ALE/
    """
    from envwire.client._errors.faults import checked
    from envwire.client._transports.by_name import open_transport
    from envwire.client._transports.transport import call
    from envwire.server.cli._inspect.listing import print_json, print_rows
    from envwire.v1 import environment_pb2 as pb

    requests = (
        pb.InteractRequest(list_environments=pb.ListEnvironmentsRequest()),
        pb.InteractRequest(get_server_info=pb.GetServerInfoRequest()),
    )
    with reporting("list"), contextlib.closing(open_transport("unary", target, None)) as transport:
        listing, info = (checked(call(transport, each, _ANSWER_SECONDS)) for each in requests)
    show = print_json if as_json else print_rows
    show(listing.list_environments, info.get_server_info)
