"""A session process's ends of what ties it to the front: the link, the door, and the memory that both look at."""

from __future__ import annotations

import socket
from typing import NamedTuple

from envwire.server._ipc.frames import FrameSocket
from envwire.server._ipc.message_slots import REPLIES, Shelf
from envwire.server._ipc.scoreboard import Board


class Ends(NamedTuple):
    """What a session process holds.

    Attributes:
        link: Connected, blocking socket to the front.
        frames: Sends and receives on it.
        door: Socket of packets, on which the front hands over direct channels.
        board: Where the front looks what goes on here.
        shelf: Where large messages lie.
    """

    link: socket.socket
    frames: FrameSocket
    door: socket.socket
    board: Board
    shelf: Shelf

    def close(self) -> None:
        """Lets go of all."""
        self.link.close()
        self.door.close()
        self.shelf.close()
        self.board.close()


def take_ends(link: int, door: int, board: int, rows: int) -> Ends:
    """Returns the ends behind three descriptors, which belong to them from now on.

    Args:
        link: Socket.
        door: Socket of packets.
        board: File of memory.
        rows: How many sessions the process may hold.
    """
    connected = socket.socket(fileno=link)
    page = Board(board, rows)
    shelf = Shelf(board, page, REPLIES)
    return Ends(connected, FrameSocket(connected, shelf), socket.socket(fileno=door), page, shelf)
