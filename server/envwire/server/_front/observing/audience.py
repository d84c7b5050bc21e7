"""Limits the number of simultaneous watchers."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from envwire.codec import FaultError, Reason


class Audience:
    """Watchers of one kind.

    Args:
        most: Largest number of watchers.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._count = 0

    @contextmanager
    def joined(self) -> Generator[None]:
        """Counts a watcher while it watches.

        Raises:
            FaultError: CAPACITY_REACHED: there are too many watchers.
        """
        if self._count >= self._most:
            raise FaultError(
                Reason.CAPACITY_REACHED,
                f"{self._most} watch already, all that may; try again later",
                retry_after=1.0,
            )
        self._count += 1
        try:
            yield
        finally:
            self._count -= 1
