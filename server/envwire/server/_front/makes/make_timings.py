"""Breakdown of the time of Makes."""

from __future__ import annotations

from dataclasses import dataclass

from envwire.server._ipc.scoreboard import Counters


@dataclass
class MakeTimings:
    """Total seconds of successful Makes, without those that took a warm environment.

    Attributes:
        queue: Waiting for a free slot.
        process: Starting a process, or finding one with a free slot.
        environment: Making the environment.
        codec: Encoding its spaces and specification.
        wire: The rest: sending the order to the process, and its answer back.
    """

    queue: float = 0.0
    process: float = 0.0
    environment: float = 0.0
    codec: float = 0.0
    wire: float = 0.0

    def add(self, queue: float, process: float, asked: float, counters: Counters) -> None:
        """Adds a Make.

        Args:
            queue: Seconds of waiting for a free slot.
            process: Seconds of starting or finding a process.
            asked: Seconds from the order to its answer.
            counters: The session's counters.
        """
        environment, codec = counters.making / 1e9, counters.describing / 1e9
        self.queue += queue
        self.process += process
        self.environment += environment
        self.codec += codec
        self.wire += max(0.0, asked - environment - codec)
