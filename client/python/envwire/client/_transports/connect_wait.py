"""How long to wait for a server when connecting."""

from __future__ import annotations

from typing import NamedTuple

from envwire.client._errors.connections import no_answer, nothing_listens
from envwire.codec.durations import LONGEST_SECONDS

#: Default wait for a server that neither answers nor refuses.
_DEFAULT_SECONDS = 10.0


class ConnectWait(NamedTuple):
    """How long to wait for a server when connecting.

    Attributes:
        seconds: Seconds in all, over all attempts.
        refused: Whether to keep trying if connections are refused: the server may be about to start.
    """

    seconds: float
    refused: bool

    @classmethod
    def of(cls, connect_timeout: float | ConnectWait | None) -> ConnectWait:
        """Returns the wait for the option `connect_timeout`; only an explicit timeout waits for a server to start."""
        if isinstance(connect_timeout, ConnectWait):
            return connect_timeout
        if connect_timeout is None:
            return cls(_DEFAULT_SECONDS, refused=False)
        return cls(min(connect_timeout, LONGEST_SECONDS), refused=True)

    def check(self, target: str, left: float, refused: bool) -> None:
        """Checks after a failed attempt whether to make another one.

        Args:
            target: The server.
            left: Seconds left.
            refused: Whether the connection was refused.

        Raises:
            ServerUnavailableError: The time is up, or a refusal ends the wait.
        """
        if refused and (left <= 0 or not self.refused):
            raise nothing_listens(target)
        if left <= 0:
            raise no_answer(target, self.seconds)
