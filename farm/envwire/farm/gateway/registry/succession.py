"""Which registration may take the place of another. No I/O.

An id and an incarnation belong to the server that registered them first, for as long as it lives. Otherwise any server
of the farm could register as another one, and would receive its clients and the requests of its sessions.
"""

from __future__ import annotations

from envwire.farm.gateway.registry.states import Member


class DuplicateServerError(Exception):
    """The id or the incarnation of a registration belongs to another server."""


def validate_registration(
    new: Member, named: Member | None, ran: Member | None, now: float
) -> None:
    """Refuses a registration that would replace another server.

    Args:
        new: The server that registers.
        named: The last server of the same id, if any.
        ran: The last server of the same incarnation, alive or dead, if any.
        now: The time.

    Raises:
        DuplicateServerError: The id or the incarnation belongs to another server.
    """
    if ran is not None and not _is_same_server(new, ran, now):
        raise DuplicateServerError(f"incarnation {new.incarnation} is another server's")
    if named is None or named.dead or named is ran or _is_restart(new, named, now):
        return
    raise DuplicateServerError(
        f"{new.hello.server_id} is the id of a server at {named.address} that lives; give each server an id of its "
        "own with --advertise, or wait until that one is dead"
    )


def _is_same_server(new: Member, ran: Member, now: float) -> bool:
    """Returns whether the same run registers again; after a broken connection its address may differ."""
    ids = new.hello.server_id == ran.hello.server_id and new.owner == ran.owner
    return ids and (new.address == ran.address or ran.dead or ran.is_silent(now))


def _is_restart(new: Member, named: Member, now: float) -> bool:
    """Returns whether a server was restarted in place: at the same address, so the earlier run has ended."""
    same = new.address == named.address and new.owner == named.owner
    return same and named.is_silent(now)
