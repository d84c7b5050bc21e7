"""Values of the last minutes, so that a page that is opened shows what was before it."""

from __future__ import annotations

from array import array
from typing import Final

#: Rounds that are kept: five minutes, at a round a second.
ROUNDS: Final = 300


class History:
    """The values of the last rounds. A round without a value counts as 0.

    They are packed: a thousand sessions take 1.2 MB.
    """

    def __init__(self) -> None:
        self._values = array("f")
        self._round = 0

    def note(self, number: int, value: float) -> None:
        """Notes a round's value.

        Args:
            number: The round's number; they increase.
            value: The value in it.
        """
        missed = min(number - self._round - 1, ROUNDS) if self._values else 0
        self._values.extend([*[0.0] * missed, value])
        del self._values[:-ROUNDS]
        self._round = number

    def until(self, number: int) -> list[float]:
        """Returns the values up to a round, the oldest first."""
        missed = min(number - self._round, ROUNDS) if self._values else 0
        return [round(value, 1) for value in [*self._values, *[0.0] * missed][-ROUNDS:]]
