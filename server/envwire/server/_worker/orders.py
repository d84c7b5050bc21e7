"""Frames from the front to a session process, in order, and the wait for an acknowledgement among them."""

from __future__ import annotations

import contextlib
from collections import deque

from envwire.server._ipc.frames import Kind
from envwire.server._ipc.worker_frames import AckFrame, EndFrame, WorkerFrame, read_worker_frame
from envwire.server._worker.endpoints import WorkerEndpoints

#: Longest wait for the front's acknowledgement of a close, in seconds; it comes at once unless the front is stopped.
_NOTICE_SECONDS = 2.0


class FrontOrders:
    """The frames from the front. Frames that arrive during a wait for an acknowledgement are kept for later.

    Args:
        endpoints: The process's connections to the front.
    """

    def __init__(self, endpoints: WorkerEndpoints) -> None:
        self._frames, self._link = endpoints.frames, endpoints.link
        self._backlog: deque[WorkerFrame] = deque()

    @property
    def waiting(self) -> bool:
        """Whether a frame was already read, which the poller would not report."""
        return bool(self._backlog) or self._frames.waiting

    def next(self) -> WorkerFrame | None:
        """Waits for the next frame; None when the front is gone."""
        return self._backlog.popleft() if self._backlog else self._receive()

    def _receive(self) -> WorkerFrame | None:
        frame = self._frames.receive()
        return None if frame is None else read_worker_frame(frame)

    def announce_closed(self, number: int) -> None:
        """Reports to the front that a session was closed, and waits until its slot is free."""
        self._frames.send(Kind.CLOSED, number)
        self._link.settimeout(_NOTICE_SECONDS)
        with contextlib.suppress(OSError):
            while (frame := self._receive()) is not None:
                if frame in (AckFrame(number), EndFrame(number)):
                    break
                self._backlog.append(frame)
        self._link.settimeout(None)
