"""How long a server is waited for."""

from __future__ import annotations

from typing import NamedTuple

#: A server that neither answers nor refuses is waited for so long, unless the caller says otherwise.
_DEFAULT_SECONDS = 10.0


class ConnectWait(NamedTuple):
    """How long a server is waited for.

    Attributes:
        seconds: For the whole of it.
        refused: Whether also where nothing listens: the server may be about to start.
    """

    seconds: float
    refused: bool

    @classmethod
    def of(cls, connect_timeout: float | None) -> ConnectWait:
        """Returns what an option `connect_timeout` means: waiting for a server to start has to be asked for."""
        if connect_timeout is None:
            return cls(_DEFAULT_SECONDS, refused=False)
        return cls(connect_timeout, refused=True)

    def at_most(self, seconds: float) -> ConnectWait:
        """Returns the same wait, cut short."""
        return self._replace(seconds=min(self.seconds, seconds))
