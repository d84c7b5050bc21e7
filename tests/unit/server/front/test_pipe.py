"""A pipe passes on what came early, and reads no faster than the other end accepts."""

from __future__ import annotations

import asyncio
from typing import Any

from envwire.server._front.pipe import PipeEnd


class Narrow(asyncio.Transport):
    """A transport that is full after each write, until the test drains it.

    Attributes:
        paused: Whether it reads nothing.
        written: What was written to it.
    """

    def __init__(self, end: PipeEnd, **details: Any) -> None:
        super().__init__(details)
        self.paused = False
        self.written = b""
        self._end = end
        end.connection_made(self)

    def pause_reading(self) -> None:
        self.paused = True

    def resume_reading(self) -> None:
        self.paused = False

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.written += data
        self._end.pause_writing()


def test_what_came_early_is_passed_on_and_no_more_is_read_until_it_is_taken() -> None:
    ours, theirs = PipeEnd(), PipeEnd()
    near, far = Narrow(ours), Narrow(theirs)
    ours.data_received(b"early")
    ours.join(theirs)
    assert (far.written, near.paused, far.paused) == (b"early", True, False)
    theirs.resume_writing()
    assert not near.paused
