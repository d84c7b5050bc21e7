"""Bounds the number and bytes of requests that the front holds for sessions that have not answered yet.

A client sends its next request once the last is answered, or repeats the last one if it lost the answer. Requests
beyond that are bounded by session and by client: 60 requests of 30 MiB to a hanging session took 5.2 GB.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from envwire.codec import FaultError, Reason

#: Most requests that may wait for one session; more are refused.
MAX_PENDING = 64
#: Smaller requests do not count towards the limits in bytes.
COUNTED_FROM = 1 << 16
#: Requests per session that may wait regardless of size: one, and its repetition.
_MIN_PENDING = 2


@dataclass
class Backlog:
    """Limits of the bytes of waiting requests, for all clients. A record knows the sizes of its own (see `ask` there).

    Attributes:
        per_session: Most bytes that may wait for one session.
        per_client: Most bytes that may wait for all sessions of one client.
        held: Bytes that are waiting, by client.
    """

    per_session: int = sys.maxsize
    per_client: int = sys.maxsize
    held: Counter[str] = field(default_factory=Counter[str])

    def take(self, owner: str, size: int, waiting: Sequence[int]) -> int:
        """Admits a request, if the limits allow it; returns the bytes that count.

        Args:
            owner: Name of the client.
            size: Size of the request in bytes.
            waiting: The bytes that count of the session's requests that wait.

        Raises:
            FaultError: CAPACITY_REACHED.
        """
        if len(waiting) >= MAX_PENDING:
            raise FaultError(
                Reason.CAPACITY_REACHED,
                f"{MAX_PENDING} requests of this session wait already; wait for their replies before sending more",
                retry_after=1.0,
            )
        if size < COUNTED_FROM:
            return 0
        held = self.held[owner]
        if len(waiting) >= _MIN_PENDING and sum(waiting) + size > self.per_session:
            raise _too_much("of this session", self.per_session, "--max-pending-bytes")
        if held and held + size > self.per_client:
            raise _too_much(f"of {owner}", self.per_client, "--max-pending-bytes-per-client")
        self.held[owner] += size
        return size

    def give_back(self, owner: str, size: int) -> None:
        """Notes that bytes which `take` returned no longer wait."""
        if size:
            self.held[owner] -= size
            if not self.held[owner]:
                del self.held[owner]


def _too_much(whose: str, most: int, option: str) -> FaultError:
    return FaultError(
        Reason.CAPACITY_REACHED,
        f"large requests {whose} wait already, and this one would make them more than {most} bytes; wait for their "
        f"replies before sending more. The operator raises the number with {option}",
        retry_after=1.0,
    )
