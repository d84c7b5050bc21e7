"""The drain of a server: the order, given by a signal or the operator's call, and the notice that clients get."""

from __future__ import annotations

from collections.abc import Callable

from envwire.codec.errors.statuses import draining_notice
from envwire.v1 import environment_pb2 as pb
from envwire.v1 import status_pb2


class DrainOrder:
    """The order to drain and stop the server. It takes effect once; giving it again changes nothing.

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


class Notices:
    """The notices that a server sends to all clients along with its answers.

    Args:
        clock: Monotonic time, in seconds.

    Attributes:
        draining: Whether there are any: the server is about to stop.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._stops_at: float | None = None
        self.draining = False

    def drain(self, seconds: float) -> None:
        """Adds the notice that the server stops in `seconds`. A second call changes nothing."""
        if self._stops_at is None:
            self._stops_at = self._clock() + seconds
            self.draining = True

    def response_suffix(self) -> bytes:
        """Returns the bytes to append to an InteractResponse; empty without a notice."""
        if self._stops_at is None:
            return b""
        return pb.InteractResponse(notices=self._notices(self._stops_at)).SerializeToString()

    def trailing_metadata(self) -> bytes:
        """Returns the NoticeList for a unary call's trailing metadata; empty without a notice."""
        if self._stops_at is None:
            return b""
        return status_pb2.NoticeList(notices=self._notices(self._stops_at)).SerializeToString()

    def _notices(self, stops_at: float) -> list[status_pb2.Notice]:
        return [draining_notice(stops_at - self._clock())]
