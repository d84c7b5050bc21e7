"""A session process's ends of its connections to the front: link, control socket, shared memory."""

from __future__ import annotations

import socket

from envwire.server._ipc.frames import FrameSocket
from envwire.server._ipc.message_slots import REPLIES, MessageSlots
from envwire.server._ipc.scoreboard import Scoreboard


class WorkerEndpoints:
    """A session process's connections to the front.

    Args:
        link: Descriptor of the link's socket. This object owns all three descriptors.
        control_socket: Descriptor of the packet socket.
        scoreboard: Descriptor of the scoreboard's memory file.
        rows: How many sessions the process may hold.

    Attributes:
        link: Connected, blocking socket.
        frames: Sends and receives frames on the link.
        control_socket: Packet socket on which the front hands over direct channels.
        scoreboard: Shared memory that reports to the front what this process is doing.
    """

    def __init__(self, link: int, control_socket: int, scoreboard: int, rows: int) -> None:
        self.link = socket.socket(fileno=link)
        self.control_socket = socket.socket(fileno=control_socket)
        self.scoreboard = Scoreboard(scoreboard, rows)
        self._message_slots = MessageSlots(scoreboard, self.scoreboard, REPLIES)
        self.frames = FrameSocket(self.link, self._message_slots)

    def close(self) -> None:
        """Closes all of them."""
        self.link.close()
        self.control_socket.close()
        self._message_slots.close()
        self.scoreboard.close()
