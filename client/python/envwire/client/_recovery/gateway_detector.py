"""Asks a farm's gateway whether a silent server is dead."""

from __future__ import annotations

from collections import deque

from envwire.client._transports.servers import Servers
from envwire.v1 import environment_pb2 as pb

#: Incarnations of servers that a gateway declared dead, which is final. Of a dead server's 100 sessions, the first ask
#: the gateway, and the others find the answer here.
_dead: deque[str] = deque(maxlen=256)


class GatewayDetector:
    """Asks the gateway through which a session was made.

    Args:
        servers: Asks the gateway.
        target: HOST:PORT of the gateway.
        made: The answer to the session's Make.
    """

    has_gateway = True

    def __init__(self, servers: Servers, target: str, made: pb.MakeResponse) -> None:
        self._servers = servers
        self._target = target
        self._session_id = made.session_id
        self._run = made.incarnation

    @property
    def known(self) -> bool:
        """Whether the gateway has declared the server dead."""
        return bool(self._run) and self._run in _dead

    def ask(self, silent: bool) -> bool:
        """Returns whether the gateway declares the server dead (see `FailureDetector.ask`)."""
        if self.known:
            return True
        dead = self._servers.is_server_dead(self._target, self._session_id, silent)
        if dead:
            _dead.append(self._run)
        return dead
