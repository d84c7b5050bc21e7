"""Where recorded requests are played: in this process, or on a server."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from envwire.client import Transport
    from envwire.v1 import environment_pb2 as pb

_CONNECT_SECONDS = 5.0


def player_transport(target: str, make: pb.MakeRequest, imports: list[str]) -> Transport:
    """Returns what leads to the environment.

    Args:
        target: HOST:PORT of a server; empty for this process.
        make: What is to be made.
        imports: Modules that register environments, for this process.

    Raises:
        ImportError: A module cannot be imported.
        LookupError: There is no such environment here.
        RemoteError: No server answers there.
    """
    if target:
        from envwire.client._transports.by_name import open_transport

        return open_transport("stream", target, _CONNECT_SECONDS)
    from envwire.server.inprocess import InProcessTransport

    sys.path.insert(0, os.getcwd())
    wrappers = [wrapper.name for wrapper in make.wrappers if ":" in wrapper.name]
    return InProcessTransport([make.env_id], imports=imports, allow_wrappers=wrappers)
