"""The sessions of one process, and the state of the process itself."""

from __future__ import annotations

import traceback
from dataclasses import dataclass

from envwire.server._ipc.scoreboard import Row
from envwire.server._session.hosted_env import WarningRecorder
from envwire.server._session.session import Session
from envwire.server._worker.direct.channel import Channel
from envwire.server._worker.direct.shared_memory import SharedDevice


@dataclass(eq=False)
class ServedSession:
    """A session that the process serves.

    Attributes:
        number: Its number on the link, never reused in this process.
        row: Its row on the scoreboard.
        session: The session.
        large: Whether its last reply on the link was large.
        device: The memory of a device that it shares with its client; None for none.
        channel: Its direct channel; None without one.
        watched_until: Until when pictures of it are assumed to be wanted, by the monotonic clock.
    """

    number: int
    row: Row
    session: Session
    large: bool = False
    device: SharedDevice | None = None
    channel: Channel | None = None
    watched_until: float = 0.0

    def share(self, device: SharedDevice | None) -> None:
        """Shares memory of a device with the client from now on, or no longer."""
        if device is not self.device:
            self.device = device
            self.session.use_arrays(None if device is None else device.arrays)
            self.row.set_device(0 if device is None else device.arrays.memory.size)


class ProcessSessions:
    """The sessions of a process.

    Args:
        packed: Whether sessions share the process; a process that is not shared ends with its session.

    Attributes:
        by_number: The sessions by their numbers on the link.
        packed: Whether sessions share the process.
        warnings: Collects the warnings of environments, for one session at a time.
        over: Whether the process should exit.
        stops_at: When the server stops, in seconds of the monotonic clock; None if it is not draining.
    """

    def __init__(self, packed: bool) -> None:
        self.packed = packed
        self.warnings = WarningRecorder()
        self.over = False
        self.stops_at: float | None = None
        self.by_number: dict[int, ServedSession] = {}

    def remove(self, served: ServedSession) -> None:
        """Removes a session that is over; its slot becomes free once the front is told."""
        del self.by_number[served.number]
        # Now: the session refers to itself, and would keep the memory until it is collected.
        served.share(None)
        self.over = not self.packed

    def end(self, served: ServedSession) -> None:
        """Closes an environment that its client did not close; errors go to the log."""
        self.warnings.log = served.session.warnings
        try:
            served.session.end()
        except Exception:
            traceback.print_exc()
