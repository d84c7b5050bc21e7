"""A direct channel with a mailbox: frames in its boxes and on its socket."""

from __future__ import annotations

import os
import time

from envwire.conformance.outcomes import FailedError, SkippedError
from envwire.conformance.raw.answers import Answer
from envwire.conformance.raw.direct_link import WAKE, DirectLink, frame
from envwire.conformance.raw.mailbox import Mailbox
from envwire.v1 import environment_pb2 as pb

#: A frame of the socket: message, slot and attachments.
_Frame = tuple[bytes, int, bytes]
#: How long to see whether the server looks into its box, in seconds. It may do so only if the last request came soon:
#: envwire's server, if that was within 200 microseconds.
_LOOK_SECONDS = 50e-6
#: How long both are looked at all the time, and after that the interval between two looks into the box, in seconds.
_SPIN_SECONDS, _PAUSE_SECONDS = 5e-3, 5e-4


class BoxLink:
    """A channel with a mailbox. Requests go on the socket, unless a check puts them into the box.

    Args:
        link: The channel, whose welcome offered a mailbox.
        mailbox: The mailbox.
        seconds: Longest wait for an answer, in seconds.

    Attributes:
        link: The channel.
        mailbox: The mailbox.
        in_box: Whether the last answer came in the box.
        wakes: How many wakes the server has sent.
    """

    name = "direct"
    shows_header = False

    def __init__(self, link: DirectLink, mailbox: Mailbox, seconds: float) -> None:
        self.link = link
        self.mailbox = mailbox
        self.in_box = False
        self.wakes = 0
        self._seconds = seconds
        self._last = b""

    def exchange(self, request: pb.InteractRequest, seconds: float) -> Answer:
        """Sends a request on the socket, and waits for its answer."""
        self.send(request)
        return self._answer(self._await(seconds))

    def send(self, request: pb.InteractRequest) -> None:
        """Sends a request on the socket."""
        self._last = frame(request)
        self.link.send(request)

    def put(self, request: pb.InteractRequest) -> None:
        """Puts a request into the box, and wakes the server if it has fallen asleep meanwhile."""
        self._last = frame(request)
        self.link.trace.sent("box", request)
        self.put_bytes(self._last)

    def put_bytes(self, data: bytes) -> None:
        """Puts bytes into the box in place of a frame, and wakes the server if it sleeps."""
        if self.mailbox.put(data):
            self.link.send_bytes(WAKE)

    def receive(self) -> Answer:
        """Waits for an answer, on the socket and, unless this client sleeps, in the box.

        Raises:
            FailedError: None came, or the connection ended.
        """
        return self._answer(self._await(self._seconds))

    def fall_asleep(self) -> Answer:
        """Stops looking into the box, and waits for an answer or a wake on the socket (see `receive`)."""
        self.mailbox.sleep()
        return self._answer(self._taken() or self._await(self._seconds))

    def await_server(self) -> None:
        """Repeats the last request, whose answer is kept, until the server looks into its box.

        Raises:
            SkippedError: The server sleeps after each of them, as it may.
        """
        until = time.monotonic() + self._seconds
        while not self._server_looks():
            if time.monotonic() > until:
                raise SkippedError("the server never looks into its box")
            self.link.send_bytes(self._last)
            self._await(self._seconds)

    def close(self) -> None:
        """Closes the channel."""
        self.link.close()

    def _server_looks(self) -> bool:
        until = time.perf_counter() + _LOOK_SECONDS
        while time.perf_counter() < until:
            if not self.mailbox.sleepers[0]:
                return True
            os.sched_yield()
        return False

    def _answer(self, found: bytes | _Frame) -> Answer:
        if isinstance(found, bytes):
            return self.link.answer_in_box(found)
        return self.link.answer(*found)

    def _await(self, seconds: float) -> bytes | _Frame:
        """Returns the next frame: whole if it was in the box, in parts if it came on the socket."""
        begun, sleeps = time.monotonic(), self.mailbox.sleepers[1]
        while (passed := time.monotonic() - begun) < seconds:
            if not sleeps and (found := self._taken()) is not None:
                return found
            pause = seconds - passed if sleeps else _PAUSE_SECONDS if passed > _SPIN_SECONDS else 0
            if not self.link.readable(pause):
                os.sched_yield()
            elif (received := self._received()) is not None:
                return received
        raise FailedError("an answer in the box or on the socket; none came in time")

    def _taken(self) -> bytes | None:
        found = self.mailbox.take()
        self.in_box = found is not None
        return found

    def _received(self) -> bytes | _Frame | None:
        """Returns the frame that comes on the socket; after a wake, and at the end, what is in the box."""
        try:
            found = self.link.receive_frame()
        except FailedError:
            if (last := self._taken()) is not None:
                return last
            raise
        self.in_box = False
        if any(found):
            return found
        self.wakes += 1
        return self._taken()
