"""What a strategy asks of the environment whose session was lost."""

from __future__ import annotations

from typing import Protocol, TypeVar

from envwire.client._session.operations import Operation

T = TypeVar("T")


class Recovering(Protocol):
    """The I/O of a recovery; its text names the environment in the log."""

    async def ask(self, operation: Operation[T], *, recover: bool = False) -> T:
        """Sends a request to the session and returns its result."""
        raise NotImplementedError

    async def make_again(self) -> None:
        """Makes the environment again, in a session that replaces the lost one."""

    async def discard(self, *, close: bool = False) -> None:
        """Frees the connection of the session, and closes the session if `close`."""

    async def pause(self, seconds: float) -> None:
        """Waits."""
