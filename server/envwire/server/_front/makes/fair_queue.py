"""A fair queue: clients take turns, and each of their turns waits for a limited time."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Generic, TypeVar

from envwire.codec import FaultError

Want = TypeVar("Want")
Given = TypeVar("Given")


@dataclass(eq=False)
class Turn(Generic[Want, Given]):
    """One place in the queue.

    Attributes:
        want: What it waits for.
        client: Name of the client that waits.
        come: Future of its result or error.
    """

    want: Want
    client: str = ""

    def __post_init__(self) -> None:
        self.come: asyncio.Future[Given] = asyncio.get_running_loop().create_future()


class FairQueue(Generic[Want, Given]):
    """Holds turns until they get a result or an error, or have waited too long.

    Of several clients, the one that was served longest ago comes first, so that the thousand turns of one do not delay
    the first one of another.

    Args:
        give_back: Returns the result of a turn that was cancelled after it got one.
    """

    def __init__(self, give_back: Callable[[Want, Given], None]) -> None:
        self._give_back = give_back
        self._turns: list[Turn[Want, Given]] = []
        #: The round of each waiting client's next turn, and the latest round in which a turn was served: a client that
        #: comes begins with that one.
        self._rounds: dict[str, int] = {}
        self._round = 0

    def __len__(self) -> int:
        return sum(not turn.come.done() for turn in self._turns)

    def __iter__(self) -> Iterator[Turn[Want, Given]]:
        """Iterates over the waiting turns, in rounds with one turn of each client, which is its oldest.

        They may be served during the iteration.
        """
        ahead = Counter[str]()
        ranked: list[tuple[int, int, Turn[Want, Given]]] = []
        for number, turn in enumerate(self._turns):
            rank = self._rounds[turn.client] + ahead[turn.client]
            ahead[turn.client] += 1  # one that was served a moment ago counts as well
            ranked.append((rank, number, turn))
        ranked.sort(key=lambda each: each[:2])
        return (turn for *_, turn in ranked if not turn.come.done())

    def has_room(self, most: int, client: str) -> bool:
        """Returns whether another turn may wait, when that many may.

        A client of which none waits yet finds room for one, unless as many have found it in this way.
        """
        count = len(self)
        if count < most:
            return True
        waits = any(turn.client == client and not turn.come.done() for turn in self._turns)
        return count < 2 * most and not waits

    async def wait(
        self, want: Want, seconds: float, refusal: Callable[[Want], FaultError], client: str = ""
    ) -> Given:
        """Waits for a turn.

        Args:
            want: What to wait for.
            seconds: Longest wait.
            refusal: Returns the error of a turn that has waited too long.
            client: Name of the client that waits.

        Raises:
            FaultError: The turn ended with an error, or has waited too long.
        """
        turn = Turn[Want, Given](want, client)
        self._turns.append(turn)
        self._rounds.setdefault(client, self._round)
        timer = asyncio.get_running_loop().call_later(seconds, _give_up, turn, refusal)
        try:
            return await turn.come
        except asyncio.CancelledError:
            if turn.come.done() and not turn.come.cancelled() and not turn.come.exception():
                self._give_back(want, turn.come.result())
            raise
        finally:
            timer.cancel()
            self._remove(turn)

    def _remove(self, turn: Turn[Want, Given]) -> None:
        self._turns.remove(turn)
        if turn.come.done() and not turn.come.cancelled() and not turn.come.exception():
            self._round = max(self._round, self._rounds[turn.client])
            self._rounds[turn.client] += 1
        if not any(each.client == turn.client for each in self._turns):
            del self._rounds[turn.client]


def _give_up(turn: Turn[Want, Given], refusal: Callable[[Want], FaultError]) -> None:
    if not turn.come.done():
        turn.come.set_exception(refusal(turn.want))
