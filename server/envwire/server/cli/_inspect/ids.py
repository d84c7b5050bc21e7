"""Environment ids for shell completion: a server's, or those installed here."""

from __future__ import annotations

import contextlib
from importlib import import_module

#: Longest wait after pressing Tab, in seconds.
_SECONDS = 1.0


def known_ids(target: str | None) -> list[str]:
    """Returns the ids in order; empty if the server does not answer."""
    return sorted(_served(target) if target else _installed())


def _served(target: str) -> set[str]:
    from envwire.client._transports.by_name import open_transport
    from envwire.client._transports.transport import call
    from envwire.client.errors import RemoteError
    from envwire.v1 import environment_pb2 as pb

    try:
        with contextlib.closing(open_transport("unary", target, _SECONDS)) as transport:
            request = pb.InteractRequest(list_environments=pb.ListEnvironmentsRequest())
            listed = call(transport, request, _SECONDS).list_environments.environments
    except (RemoteError, ValueError):
        return set()
    return {listing.spec.id for listing in listed}


def _installed() -> set[str]:
    found: set[str] = set()
    for name in ("envwire.envs", "gymnasium"):
        with contextlib.suppress(ModuleNotFoundError):
            found |= set(import_module(name).registry)
    return found
