"""Where the time of Makes goes."""

from __future__ import annotations

from dataclasses import dataclass

from envwire.server._ipc.scoreboard import Counters


@dataclass
class MakeParts:
    """Seconds of the Makes that succeeded and took no warm environment.

    Attributes:
        queue: Waiting for a free slot.
        process: Starting a process, or finding one with a free slot.
        environment: Making the environment.
        codec: Writing down its spaces and specification.
        wire: The rest, between the front and the process: the order to make, and its answer.
    """

    queue: float = 0.0
    process: float = 0.0
    environment: float = 0.0
    codec: float = 0.0
    wire: float = 0.0

    def add(self, queue: float, process: float, asked: float, counters: Counters) -> None:
        """Adds a Make.

        Args:
            queue: See above.
            process: See above.
            asked: Seconds from the order to its answer.
            counters: Those of the session.
        """
        environment, codec = counters.making / 1e9, counters.describing / 1e9
        self.queue += queue
        self.process += process
        self.environment += environment
        self.codec += codec
        self.wire += max(0.0, asked - environment - codec)
