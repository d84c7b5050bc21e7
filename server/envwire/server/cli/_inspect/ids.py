"""The ids that a shell completes: those of a server, or those that are installed here."""

from __future__ import annotations

import contextlib
from importlib import import_module

#: Whoever presses Tab does not wait longer.
_SECONDS = 1.0


def known_ids(target: str | None) -> list[str]:
    """Returns ids in order; none where the server does not answer."""
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
