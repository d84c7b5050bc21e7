"""A fair queue: first come, first served, each for a limited time."""

from __future__ import annotations

import asyncio
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
        come: Future of its result or error.
    """

    want: Want

    def __post_init__(self) -> None:
        self.come: asyncio.Future[Given] = asyncio.get_running_loop().create_future()


class FairQueue(Generic[Want, Given]):
    """Holds turns until they get a result or an error, or have waited too long.

    Args:
        give_back: Returns the result of a turn that was cancelled after it got one.
    """

    def __init__(self, give_back: Callable[[Want, Given], None]) -> None:
        self._give_back = give_back
        self._turns: list[Turn[Want, Given]] = []

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __iter__(self) -> Iterator[Turn[Want, Given]]:
        """Iterates over the waiting turns, oldest first; they may be served during the iteration."""
        return (turn for turn in tuple(self._turns) if not turn.come.done())

    async def wait(
        self, want: Want, seconds: float, refusal: Callable[[Want], FaultError]
    ) -> Given:
        """Waits at the end of the queue.

        Args:
            want: What to wait for.
            seconds: Longest wait.
            refusal: Returns the error of a turn that has waited too long.

        Raises:
            FaultError: The turn ended with an error, or has waited too long.
        """
        turn = Turn[Want, Given](want)
        self._turns.append(turn)
        timer = asyncio.get_running_loop().call_later(seconds, _give_up, turn, refusal)
        try:
            return await turn.come
        except asyncio.CancelledError:
            if turn.come.done() and not turn.come.cancelled() and not turn.come.exception():
                self._give_back(want, turn.come.result())
            raise
        finally:
            timer.cancel()
            self._turns.remove(turn)


def _give_up(turn: Turn[Want, Given], refusal: Callable[[Want], FaultError]) -> None:
    if not turn.come.done():
        turn.come.set_exception(refusal(turn.want))
