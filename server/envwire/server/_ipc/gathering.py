"""Sends a message that consists of several buffers without joining them."""

from __future__ import annotations

import socket
from collections.abc import Sequence

_MAX_BUFFERS = 512
#: Below this size in bytes, joining buffers costs less than passing the kernel a list.
JOINED_BELOW = 16384

Buffer = bytes | memoryview


def send_some(sock: socket.socket, buffers: Sequence[Buffer]) -> list[Buffer]:
    """Sends as much of the buffers as the socket takes, all of them if it blocks, and returns the rest.

    Raises:
        OSError: The connection is gone.
    """
    length = sum(map(len, buffers))
    left: list[Buffer] = [*buffers] if length >= JOINED_BELOW else [b"".join(buffers)]
    try:
        while left:
            sent = sock.sendmsg(left[:_MAX_BUFFERS])
            if sent == length:  # almost always
                return []
            left = _behind(left, sent)
    except BlockingIOError:
        pass
    return left


def _behind(buffers: list[Buffer], sent: int) -> list[Buffer]:
    """Returns the buffers without their first `sent` bytes."""
    for number, buffer in enumerate(buffers):
        if sent < len(buffer):
            return [memoryview(buffer)[sent:], *buffers[number + 1 :]]
        sent -= len(buffer)
    return []
