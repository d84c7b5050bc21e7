"""A fair queue: clients take turns, and each of their turns waits for a limited time."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Generic, TypeVar

from envwire.codec import FaultError

Request = TypeVar("Request")
Given = TypeVar("Given")

#: Most bytes that the requests of all waiters may have together.
MAX_WAITING_BYTES = 64 * 1024 * 1024


@dataclass(eq=False)
class Waiter(Generic[Request, Given]):
    """One place in the queue.

    Attributes:
        request: What it waits for.
        client: Name of the client that waits.
        size: Bytes that are kept for it.
        future: Future of its result or error.
    """

    request: Request
    client: str = ""
    size: int = 0

    def __post_init__(self) -> None:
        self.future: asyncio.Future[Given] = asyncio.get_running_loop().create_future()


class FairQueue(Generic[Request, Given]):
    """Holds those that wait until they get a result or an error, or have waited too long.

    Of several clients, the one that was served longest ago comes first, so that the thousand turns of one do not delay
    the first one of another.

    Args:
        give_back: Returns the result of a waiter that was cancelled after it got one.
    """

    def __init__(self, give_back: Callable[[Request, Given], None]) -> None:
        self._give_back = give_back
        self._waiters: list[Waiter[Request, Given]] = []
        #: The round of each waiting client's next turn, and the latest round in which a turn was served: a client that
        #: comes begins with that one.
        self._rounds: dict[str, int] = {}
        self._round = 0

    def __len__(self) -> int:
        return sum(not waiter.future.done() for waiter in self._waiters)

    def __iter__(self) -> Iterator[Waiter[Request, Given]]:
        """Iterates over the waiting turns, in rounds with one turn of each client, which is its oldest.

        They may be served during the iteration.
        """
        ahead = Counter[str]()
        ranked: list[tuple[int, int, Waiter[Request, Given]]] = []
        for number, waiter in enumerate(self._waiters):
            rank = self._rounds[waiter.client] + ahead[waiter.client]
            ahead[waiter.client] += 1  # one that was served a moment ago counts as well
            ranked.append((rank, number, waiter))
        ranked.sort(key=lambda each: each[:2])
        return (waiter for *_, waiter in ranked if not waiter.future.done())

    def has_room(self, most: int, client: str, size: int = 0) -> bool:
        """Returns whether another turn may wait, when that many may, and no more bytes than `MAX_WAITING_BYTES`.

        A client of which none waits yet finds room for one, unless as many have found it in this way.
        """
        if size + sum(waiter.size for waiter in self._waiters) > MAX_WAITING_BYTES:
            return False
        count = len(self)
        if count < most:
            return True
        waits = any(
            waiter.client == client and not waiter.future.done() for waiter in self._waiters
        )
        return count < 2 * most and not waits

    async def wait(
        self,
        request: Request,
        seconds: float,
        refusal: Callable[[Request], FaultError],
        client: str = "",
        size: int = 0,
    ) -> Given:
        """Waits for a turn.

        Args:
            request: What to wait for.
            seconds: Longest wait.
            refusal: Returns the error of a waiter that has waited too long.
            client: Name of the client that waits.
            size: Bytes that are kept for it.

        Raises:
            FaultError: The wait ended with an error, or has waited too long.
        """
        waiter = Waiter[Request, Given](request, client, size)
        self._waiters.append(waiter)
        self._rounds.setdefault(client, self._round)
        timer = asyncio.get_running_loop().call_later(seconds, _give_up, waiter, refusal)
        try:
            return await waiter.future
        except asyncio.CancelledError:
            if (
                waiter.future.done()
                and not waiter.future.cancelled()
                and not waiter.future.exception()
            ):
                self._give_back(request, waiter.future.result())
            raise
        finally:
            timer.cancel()
            self._remove(waiter)

    def _remove(self, waiter: Waiter[Request, Given]) -> None:
        self._waiters.remove(waiter)
        if waiter.future.done() and not waiter.future.cancelled() and not waiter.future.exception():
            self._round = max(self._round, self._rounds[waiter.client])
            self._rounds[waiter.client] += 1
        if not any(each.client == waiter.client for each in self._waiters):
            del self._rounds[waiter.client]


def _give_up(waiter: Waiter[Request, Given], refusal: Callable[[Request], FaultError]) -> None:
    if not waiter.future.done():
        waiter.future.set_exception(refusal(waiter.request))
