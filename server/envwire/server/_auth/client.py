"""An authenticated client, and the table of the scopes that each request needs."""

from __future__ import annotations

import math
from dataclasses import dataclass

from envwire.codec import FaultError, Reason
from envwire.farm.v1 import farm_pb2
from envwire.server._auth.scopes import ANY_SERVER, EVERYTHING, Scope, ServerPatterns
from envwire.server._grammar import enumerated
from envwire.server._ipc.refusals import SESSION_REQUESTS

_ADMINS = frozenset({Scope.ADMIN})
_PLAYERS = _ADMINS | {Scope.PLAY}
_OBSERVERS = _ADMINS | {Scope.OBSERVE}

#: Scopes of which a request needs one. Requests that are not listed are for admins only. The last entries are for
#: farms and for watchers.
_SUFFICIENT: dict[str, frozenset[Scope]] = {
    "list_environments": _PLAYERS | _OBSERVERS,
    "get_server_info": _PLAYERS | _OBSERVERS,
    **dict.fromkeys(("make", "renew_lease", "get_session_stats", *SESSION_REQUESTS), _PLAYERS),
    "metrics": _OBSERVERS,
    "register": _ADMINS | {Scope.JOIN},
    "allocate": _PLAYERS,
    "locate": _PLAYERS | _OBSERVERS,
    "list_servers": _OBSERVERS,
    "list_groups": _OBSERVERS,
    "list_usage": _OBSERVERS,
    "list_sessions": _ADMINS | {Scope.INSPECT},
    "watch": _OBSERVERS | {Scope.INSPECT},
    "describe_session": _ADMINS | {Scope.WATCH},
    "watch_frames": _ADMINS | {Scope.WATCH},
}


#: Prefix of the name of a client with a token.
TOKEN_PREFIX = "token "  # noqa: S105 - no secret
#: Prefix of the name of a client with a gateway's ticket, unless its token is in the server's file as well.
FARM_PREFIX = "farm's "


@dataclass(frozen=True)
class Client:
    """An authenticated client.

    Attributes:
        name: Its name in limits and logs: "token alice", "certificate CN=agent", "address 192.0.2.7".
        scopes: What it may ask for.
        remedy: What to do if the scopes are not enough, for error messages.
        servers: The servers that it may register in a farm.
        ticket: The gateway's ticket that limits its Makes; None for no such limit.
        reservation: Id of the slots that the server reserves for its Makes.
        quota: How many slots of a farm it may hold; None if its token does not say.
        deadline: When it stops waiting for a Make, in seconds of the monotonic clock; infinity if it does not say.
    """

    name: str = "this machine"
    scopes: frozenset[Scope] = EVERYTHING
    remedy: str = "Use another token, or have the operator give this one the scope"
    servers: ServerPatterns = ANY_SERVER
    ticket: farm_pb2.Ticket | None = None
    reservation: bytes = b""
    quota: int | None = None
    deadline: float = math.inf

    def owns(self, owner: str) -> bool:
        """Returns whether a session belongs to this client: one that it made here, or with a gateway's ticket.

        A farm can know another client by the same name only if no tokens are used. Watching is then possible only on
        loopback, with the gateway on this machine, too.
        """
        return owner in (self.name, FARM_PREFIX + self.name)

    def check(self, kind: str) -> None:
        """Refuses a request that no scope of the client allows.

        Args:
            kind: The request's field in InteractRequest, or the name of a farm's method.

        Raises:
            FaultError: SCOPE_MISSING.
        """
        sufficient = _SUFFICIENT.get(kind, _ADMINS)
        if self.scopes.isdisjoint(sufficient):
            needed, held = _names(sufficient), _names(self.scopes)
            raise FaultError(
                Reason.SCOPE_MISSING,
                f"{self.name} may not ask for {kind}: that takes scope {enumerated(needed, 'or')}, and it has "
                f"{enumerated(held, 'and')}. {self.remedy}",
                metadata={"scopes": ",".join(needed)},
            )

    def check_server(self, server_id: str, address: str) -> None:
        """Refuses a server that this client may not register in a farm.

        Raises:
            FaultError: SCOPE_MISSING.
        """
        if refusal := self.servers.refusal(server_id, address):
            raise FaultError(
                Reason.SCOPE_MISSING,
                f"{self.name} may not register {refusal}. Use the server's own",
            )


#: A client in this process.
TRUSTED = Client()


def _names(scopes: frozenset[Scope]) -> list[str]:
    return sorted(scope.value for scope in scopes)
