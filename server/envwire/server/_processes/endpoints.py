"""The front's ends of the sockets, pipes and shared memory that connect it to a session process.

A bounded tail of the process's output is kept, and its lines go to the operator's log.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import socket
import time
from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import Any

from envwire.server._grammar import counted
from envwire.server._ipc.message_slots import REQUESTS, MessageSlots
from envwire.server._ipc.scoreboard import Scoreboard, make_scoreboard
from envwire.server._logs import extra

_log = logging.getLogger("envwire.server.output")

#: Lines per process and second that are logged; the rest are only counted, so that no loop of prints fills the disk.
LINES_PER_SECOND = 50
#: Longest line, in bytes; longer ones are cut.
_MAX_LINE_BYTES = 2000
_CHUNK_BYTES = 65536
_KEPT_BYTES = 4096
_PAUSE_SECONDS = 0.05

#: Returns the name of the session for a text log, and its fields for a JSON log.
Describe = Callable[[], tuple[str, dict[str, Any]]]


class OutputLog:
    """Splits the output of one process into lines and logs them.

    Args:
        describe: Describes the session.
        clock: Monotonic time, in seconds.
    """

    def __init__(self, describe: Describe, clock: Callable[[], float] = time.monotonic) -> None:
        self._describe = describe
        self._clock = clock
        self._rest = b""
        self._second = 0
        self._logged = 0
        self._left_out = 0

    def write(self, chunk: bytes) -> None:
        """Logs each complete line; indented lines that follow at once, as in tracebacks, without the label."""
        *lines, rest = (self._rest + chunk).split(b"\n")
        self._rest = rest[:_MAX_LINE_BYTES]
        for number, line in enumerate(lines):
            self._log(line, labelled=number == 0 or not line[:1].isspace())

    def close(self) -> None:
        """Logs the rest of the last line, and how many lines were left out."""
        if self._rest:
            self._log(self._rest, labelled=True)
            self._rest = b""
        self._tell_left_out()

    def _log(self, line: bytes, *, labelled: bool) -> None:
        second = int(self._clock())
        if second != self._second:
            self._tell_left_out()
            self._second, self._logged = second, 0
        if self._logged >= LINES_PER_SECOND:
            self._left_out += 1
            return
        self._logged += 1
        self._tell(line[:_MAX_LINE_BYTES].decode("utf-8", "replace"), labelled=labelled)

    def _tell_left_out(self) -> None:
        if self._left_out:
            self._tell(f"... {counted(self._left_out, 'more line')}")
            self._left_out = 0

    def _tell(self, text: str, *, labelled: bool = True) -> None:
        label, fields = self._describe()
        shown = extra(stream="environment", message=text, **fields)
        # Indented, so that no output looks like a line of the server's own.
        _log.info("%s%s", f"{label}: " if labelled else "    ", text, extra=shown)


class OutputTail:
    """Reads a pipe and keeps the last bytes.

    It reads one chunk at a time, with pauses, so that a process that prints endlessly is slowed down by its full pipe.

    Args:
        descriptor: Read end of the pipe; closed at end of file or by `close`.
    """

    def __init__(self, descriptor: int) -> None:
        self._log: OutputLog | None = None
        self._descriptor = descriptor
        self._kept = b""
        self._loop = asyncio.get_running_loop()
        self._paused: asyncio.TimerHandle | None = None
        os.set_blocking(descriptor, False)
        self._loop.add_reader(descriptor, self._read)

    def follow(self, describe: Describe) -> None:
        """Also passes all output to the operator's log, including earlier output that was kept.

        Args:
            describe: Describes the session.
        """
        self._log = OutputLog(describe)
        self._log.write(self._kept)

    def text(self) -> str:
        """Returns the tail of the output, including what is still in the pipe."""
        self._read()
        return self._kept.decode("utf-8", "replace")

    def drain(self) -> None:
        """Reads the rest once the process has ended, then stops, since its children may hold the pipe open."""
        self._read()
        self.close()

    def close(self) -> None:
        """Stops reading."""
        if self._descriptor < 0:
            return
        if self._paused is not None:
            self._paused.cancel()
        self._loop.remove_reader(self._descriptor)
        os.close(self._descriptor)
        self._descriptor = -1
        if self._log is not None:
            self._log.close()

    def _read(self) -> None:
        if self._descriptor < 0:
            return
        try:
            chunk = os.read(self._descriptor, _CHUNK_BYTES)
        except BlockingIOError:
            return
        if not chunk:
            self.close()
            return
        if self._log is not None:
            self._log.write(chunk)
        self._kept = (self._kept + chunk)[-_KEPT_BYTES:]
        self._pause()

    def _pause(self) -> None:
        self._loop.remove_reader(self._descriptor)
        if self._paused is not None:
            self._paused.cancel()
        self._paused = self._loop.call_later(
            _PAUSE_SECONDS, self._loop.add_reader, self._descriptor, self._read
        )


@dataclass(frozen=True)
class FrontEndpoints:
    """The front's ends of its connections to a session process.

    Attributes:
        link: Socket for requests and replies.
        control_socket: Packet socket that hands over descriptors.
        output: Pipe from the process's standard output and error.
        scoreboard: Shared memory in which the process reports its state.
        message_slots: Shared memory for large messages.
    """

    link: socket.socket
    control_socket: socket.socket
    output: OutputTail
    scoreboard: Scoreboard
    message_slots: MessageSlots


@contextlib.contextmanager
def open_endpoints(slots: int) -> Generator[tuple[FrontEndpoints, tuple[int, ...]]]:
    """Opens both ends of the connections to a process that is forked inside the `with` block.

    The process's descriptors are closed here when the block ends, since it has its own copies by then. The front's ends
    stay open unless the block raises.

    Args:
        slots: How many sessions the process may hold.

    Yields:
        The front's ends, and the process's descriptors: link, output, control socket, scoreboard.

    Raises:
        OSError: Too many files are open.
    """
    with contextlib.ExitStack() as theirs, contextlib.ExitStack() as ours:
        link, their_link = _pair(socket.SOCK_STREAM, ours, theirs)
        control_socket, their_control_socket = _pair(socket.SOCK_SEQPACKET, ours, theirs)
        reading, writing = os.pipe2(os.O_CLOEXEC)
        theirs.callback(os.close, writing)
        output = OutputTail(reading)
        ours.callback(output.close)
        page, scoreboard = make_scoreboard(slots)
        theirs.callback(os.close, page)
        ours.callback(scoreboard.close)
        message_slots = MessageSlots(os.dup(page), scoreboard, REQUESTS)
        ours.callback(message_slots.close)
        descriptors = (their_link.fileno(), writing, their_control_socket.fileno(), page)
        yield FrontEndpoints(link, control_socket, output, scoreboard, message_slots), descriptors
        ours.pop_all()


def _pair(
    kind: int, ours: contextlib.ExitStack, theirs: contextlib.ExitStack
) -> tuple[socket.socket, socket.socket]:
    """Returns two connected sockets, each closed with its side; ours is non-blocking."""
    our_end, their_end = socket.socketpair(socket.AF_UNIX, kind)
    our_end.setblocking(False)
    return ours.enter_context(our_end), theirs.enter_context(their_end)
