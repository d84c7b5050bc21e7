"""Bounds the number and bytes of requests that the front holds for sessions that have not answered yet.

A client sends its next request once the last is answered, or repeats the last one if it lost the answer. Requests
beyond that are bounded by session and by client: 60 requests of 30 MiB to a hanging session took 5.2 GB.
"""

from __future__ import annotations

import sys
from collections import Counter, deque
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
    """Limits of the bytes of waiting requests, for all clients.

    Attributes:
        per_session: Most bytes that may wait for one session.
        per_client: Most bytes that may wait for all sessions of one client.
        held: Bytes that are waiting, by client.
    """

    per_session: int
    per_client: int
    held: Counter[str] = field(default_factory=Counter[str])


class SessionBacklog:
    """Requests of one session that wait for an answer, in order.

    Args:
        backlog: The limits of all clients; None for no limits in bytes.
    """

    def __init__(self, backlog: Backlog | None) -> None:
        self._all = backlog or Backlog(sys.maxsize, sys.maxsize)
        self._sizes: deque[int] = deque()
        self._owner = ""

    def take(self, owner: str, size: int) -> None:
        """Adds a request, if the limits allow it.

        Args:
            owner: Name of the client.
            size: Size of the request in bytes.

        Raises:
            FaultError: CAPACITY_REACHED.
        """
        if len(self._sizes) >= MAX_PENDING:
            raise FaultError(
                Reason.CAPACITY_REACHED,
                f"{MAX_PENDING} requests of this session wait already; wait for their replies before sending more",
                retry_after=1.0,
            )
        counted = size if size >= COUNTED_FROM else 0
        if counted:
            self._check(owner, counted)
            self._owner = owner
            self._all.held[owner] += counted
        self._sizes.append(counted)

    def _check(self, owner: str, size: int) -> None:
        bounds, held = self._all, self._all.held[owner]
        if len(self._sizes) >= _MIN_PENDING and sum(self._sizes) + size > bounds.per_session:
            raise _too_much("of this session", bounds.per_session, "--max-pending-bytes")
        if held and held + size > bounds.per_client:
            raise _too_much(f"of {owner}", bounds.per_client, "--max-pending-bytes-per-client")

    def give_back(self) -> bool:
        """Removes the oldest request, which was answered; returns whether others are waiting."""
        if size := self._sizes.popleft():
            self._release(size)
        return bool(self._sizes)

    def clear(self) -> None:
        """Removes all requests, since they will not be answered."""
        self._release(sum(self._sizes))
        self._sizes.clear()

    def _release(self, size: int) -> None:
        if size:
            self._all.held[self._owner] -= size
            if not self._all.held[self._owner]:
                del self._all.held[self._owner]


def _too_much(whose: str, most: int, option: str) -> FaultError:
    return FaultError(
        Reason.CAPACITY_REACHED,
        f"large requests {whose} wait already, and this one would make them more than {most} bytes; wait for their "
        f"replies before sending more. The operator raises the number with {option}",
        retry_after=1.0,
    )
