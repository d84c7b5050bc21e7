"""The answers that a client had not received when it sent its next step ahead. They are kept until it has them."""

from __future__ import annotations

from collections import deque
from typing import NamedTuple

from envwire.codec.fastpath.attached_arrays import inline_arrays
from envwire.wire.frames import Packet

#: Most requests that may be unanswered when a step is sent ahead.
MAX_AHEAD = 63
#: Most bytes of answers that a session keeps and still takes a step that is sent ahead.
MAX_BYTES = 16 * 1024 * 1024


class Answered(NamedTuple):
    """A request that was served.

    Attributes:
        request: The request, as it was sent.
        reply: Its answer.
    """

    request: bytes
    reply: Packet


class UnreceivedAnswers:
    """Answers by the numbers of their requests, all before the last one."""

    def __init__(self) -> None:
        self._kept: deque[tuple[int, Answered]] = deque()
        self._bytes = 0

    @property
    def full(self) -> bool:
        """Whether no step may be taken before the client has received some of them."""
        return self._bytes > MAX_BYTES

    def keep(self, number: int, answered: Answered, most: int) -> None:
        """Keeps the answer to the last request, copied, since the next step may change its arrays.

        Args:
            number: The request's number.
            answered: The request and its answer.
            most: How many answers the client has not received; older ones are dropped.
        """
        kept = Answered(answered.request, inline_arrays(answered.reply))
        self._kept.append((number, kept))
        self._bytes += _size(kept)
        while len(self._kept) > most:
            self._bytes -= _size(self._kept.popleft()[1])

    def find(self, number: int) -> Answered | None:
        """Returns what was kept under a number."""
        return next((answered for kept, answered in self._kept if kept == number), None)

    def clear(self) -> None:
        """Drops the answers: the client has received them."""
        self._kept.clear()
        self._bytes = 0


def _size(answered: Answered) -> int:
    return len(answered.request) + answered.reply.size
