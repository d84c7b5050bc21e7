"""Those that wait for something, in the order in which they came, each for a limited time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from envwire.codec import FaultError

Want = TypeVar("Want")
Given = TypeVar("Given")


@dataclass(eq=False)
class Turn(Generic[Want, Given]):
    """One that waits.

    Attributes:
        want: What for.
        come: Set to what it is given, or to why it is given nothing.
    """

    want: Want
    come: asyncio.Future[Given] = field(
        default_factory=lambda: asyncio.get_running_loop().create_future()
    )


class WaitingLine(Generic[Want, Given]):
    """Holds turns until they are given something, are refused, or have waited too long.

    Args:
        give_back: Takes back what was given to one that was cancelled in the same moment.
    """

    def __init__(self, give_back: Callable[[Want, Given], None]) -> None:
        self._give_back = give_back
        self._turns: list[Turn[Want, Given]] = []

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __iter__(self) -> Iterator[Turn[Want, Given]]:
        """Iterates over the turns that still wait, the longest first; they may be served meanwhile."""
        return (turn for turn in tuple(self._turns) if not turn.come.done())

    async def wait(
        self, want: Want, seconds: float, refusal: Callable[[Want], FaultError]
    ) -> Given:
        """Waits behind all the others.

        Args:
            want: What for.
            seconds: For how long.
            refusal: Makes the error of one that has waited for so long.

        Raises:
            FaultError: It was refused, or has waited too long.
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
