"""The front's ends of the sockets, pipes and shared memory that connect it to a session process."""

from __future__ import annotations

import contextlib
import os
import socket
from collections.abc import Generator
from dataclasses import dataclass

from envwire.server._ipc.message_slots import REQUESTS, MessageSlots
from envwire.server._ipc.scoreboard import Scoreboard, make_scoreboard
from envwire.server._processes.output import OutputTail


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
