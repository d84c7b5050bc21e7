"""A session process's ends of its connections to the front: link, control socket, shared memory."""

from __future__ import annotations

import socket
from typing import NamedTuple

from envwire.server._ipc.frames import FrameSocket
from envwire.server._ipc.message_slots import REPLIES, MessageSlots
from envwire.server._ipc.scoreboard import Scoreboard


class WorkerEndpoints(NamedTuple):
    """A session process's connections to the front.

    Attributes:
        link: Connected, blocking socket.
        frames: Sends and receives frames on the link.
        control_socket: Packet socket on which the front hands over direct channels.
        scoreboard: Shared memory that reports to the front what this process is doing.
        message_slots: Shared memory for large messages.
    """

    link: socket.socket
    frames: FrameSocket
    control_socket: socket.socket
    scoreboard: Scoreboard
    message_slots: MessageSlots

    def close(self) -> None:
        """Closes all of them."""
        self.link.close()
        self.control_socket.close()
        self.message_slots.close()
        self.scoreboard.close()


def take_endpoints(link: int, control_socket: int, scoreboard: int, rows: int) -> WorkerEndpoints:
    """Returns the endpoints for three descriptors, and takes ownership of them.

    Args:
        link: Descriptor of the link's socket.
        control_socket: Descriptor of the packet socket.
        scoreboard: Descriptor of the scoreboard's memory file.
        rows: How many sessions the process may hold.
    """
    connected = socket.socket(fileno=link)
    page = Scoreboard(scoreboard, rows)
    message_slots = MessageSlots(scoreboard, page, REPLIES)
    return WorkerEndpoints(
        connected,
        FrameSocket(connected, message_slots),
        socket.socket(fileno=control_socket),
        page,
        message_slots,
    )
