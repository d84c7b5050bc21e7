"""The order to drain and stop a server, given by a signal or the operator's call; the first one counts."""

from __future__ import annotations

from collections.abc import Callable


class DrainOrder:
    """An order that takes effect once; giving it again changes nothing.

    Args:
        timeout: Seconds that sessions have to end, unless the order says otherwise.

    Attributes:
        given: Whether it was given.
        on_given: Called when it is given.
    """

    def __init__(self, timeout: float) -> None:
        self._timeout = timeout
        self.given = False
        self.on_given: Callable[[], None] = lambda: None

    def give(self, timeout: float | None = None) -> float:
        """Gives the order.

        Args:
            timeout: Seconds that sessions have to end; None for the server's setting.

        Returns:
            The seconds that they have, by this order or an earlier one.
        """
        if not self.given:
            self.given = True
            self._timeout = self._timeout if timeout is None else timeout
            self.on_given()
        return self._timeout
