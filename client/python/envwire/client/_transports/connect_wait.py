"""How long to wait for a server when connecting."""

from __future__ import annotations

from typing import NamedTuple

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
    def of(cls, connect_timeout: float | None) -> ConnectWait:
        """Returns the wait for the option `connect_timeout`; only an explicit timeout waits for a server to start."""
        if connect_timeout is None:
            return cls(_DEFAULT_SECONDS, refused=False)
        return cls(connect_timeout, refused=True)
