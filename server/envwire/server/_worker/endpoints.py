"""A session process's ends of what connects it to the front: link, control socket, shared memory."""

from __future__ import annotations

import socket
from typing import NamedTuple

from envwire.server._ipc.frames import FrameSocket
from envwire.server._ipc.message_slots import REPLIES, MessageSlots
from envwire.server._ipc.scoreboard import Scoreboard


class WorkerEndpoints(NamedTuple):
    """What a session process holds.

    Attributes:
        link: Connected, blocking socket to the front.
        frames: Sends and receives on it.
        control_socket: Socket of packets, on which the front hands over direct channels.
        scoreboard: Reports to the front what this process is doing.
        message_slots: Where large messages are written.
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
    """Returns the ends behind three descriptors, which belong to them from now on.

    Args:
        link: Socket.
        control_socket: Socket of packets.
        scoreboard: File of memory.
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
