"""One call at a time: a second one is an error, and `close` waits for the first."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from envwire.codec import Family


class Turn:
    """Whether a call is going on; calls are made inside `with turn`.

    Args:
        family: Its error is raised.
        label: Names whom the calls are made to.
    """

    def __init__(self, family: Family, label: Callable[[], str]) -> None:
        self._family = family
        self._label = label
        self._busy = False
        #: Where the call is made: one whose loop was closed never ends.
        self._loop: asyncio.AbstractEventLoop | None = None
        self._free: asyncio.Future[None] | None = None

    def __enter__(self) -> None:
        """Begins a call.

        Raises:
            AlreadyPendingCallError: Another one has not ended.
        """
        if self._busy and self._loop is not None and not self._loop.is_closed():
            error: Exception = self._family.error.AlreadyPendingCallError(
                f"{self._label()} serves another call; await that one first, or make an environment for each task",
                "call",
            )
            raise error
        self._busy, self._loop = True, asyncio.get_running_loop()

    def __exit__(self, *_: object) -> None:
        self._busy = False
        free, self._free = self._free, None
        if free is not None and not free.done():
            free.set_result(None)

    async def come(self) -> None:
        """Waits until no call is going on."""
        while self._busy and self._loop is not None and not self._loop.is_closed():
            if self._free is None:
                self._free = asyncio.get_running_loop().create_future()
            await asyncio.wait({self._free})
