"""Makes by request id: a repeat goes to the server that got the first.

That server knows whether it made the session, and gives the same answer. A restarted gateway no longer knows where the
first Make went: a repeat may then make a second session, and the first one ends with its lease.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

#: Number of ids to remember: some hours of Makes, 10 MB.
_REMEMBERED = 65_536


@dataclass(eq=False)
class Sent:
    """The server that a Make went to, "" for none yet. Repeats of the same Make wait for each other."""

    run: str = ""
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)


class RequestIds:
    """The Makes of one gateway that have a request id."""

    def __init__(self) -> None:
        self._sent: OrderedDict[bytes, Sent] = OrderedDict()

    @asynccontextmanager
    async def turn(self, request_id: bytes) -> AsyncGenerator[Sent]:
        """Waits until no other Make under this id is in progress; yields where the previous one went.

        Args:
            request_id: The id; empty for a Make without one.
        """
        sent = self._sent.setdefault(request_id, Sent()) if request_id else Sent()
        while len(self._sent) > _REMEMBERED:
            self._sent.popitem(last=False)
        async with sent.lock:
            yield sent
