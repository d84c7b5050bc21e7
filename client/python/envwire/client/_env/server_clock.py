"""When observations were made, on this program's clock, from the times that a server tells on its own."""

from __future__ import annotations

import math

from envwire.v1 import environment_pb2 as pb


class ServerClock:
    """The clock of a server as this program sees it.

    A step began after its request was sent, and its answer came after it had ended. So each step bounds the difference
    of the two clocks on both sides; the truth is taken to be in the middle, as if both ways were equally long. A step
    that waited for others, or an answer that waited for the path, bounds it less and does no harm.
    """

    def __init__(self) -> None:
        #: Bounds of this program's clock minus the server's, in seconds.
        self._least, self._most = -math.inf, math.inf

    def made(self, sent: float, received: float, taken: pb.StepTime | None) -> float:
        """Returns when an observation was made, in seconds of this program's monotonic clock.

        Args:
            sent: When the request was sent.
            received: When the answer had come.
            taken: When the step was taken there; None if the server does not tell. Then the time is that of the answer.
        """
        if taken is None:
            return received
        begun, ended = taken.begun_nanoseconds / 1e9, taken.ended_nanoseconds / 1e9
        self._least = max(self._least, sent - begun)
        self._most = min(self._most, received - ended)
        return min(received, ended + (self._least + self._most) / 2)
