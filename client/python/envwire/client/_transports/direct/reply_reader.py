"""Receives replies from the socket of a direct channel without blocking, piece by piece."""

from __future__ import annotations

import socket

import numpy as np

from envwire.client._transports.direct.direct_channel import Channel
from envwire.wire.frames import HEADER, HEADER_BYTES, Area, Reply

#: Small replies arrive in one piece: one call receives the header and everything after it.
_SMALL_BYTES = 4096


class ReplyReader:
    """Reads one reply at a time.

    Args:
        channel: A plain channel.
    """

    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self._socket = channel.connection
        self._early = b""
        self._message = bytearray()
        self._area: Area | None = None
        self._slot = self._attached = 0
        #: Buffers for the missing parts of the reply; empty until its header has arrived.
        self._rest: list[memoryview] = []

    def receive(self) -> Reply | None:
        """Receives what has arrived; returns the reply once it is complete, else None.

        Raises:
            BlockingIOError: Nothing has arrived.
            OSError: The connection broke, or the data is not a reply.
        """
        if self._rest:
            return self._receive_rest()
        data = self._socket.recv(_SMALL_BYTES, socket.MSG_DONTWAIT)
        if not data:
            raise ConnectionResetError("the server closed the connection")
        if self._early:
            data = self._early + data
        if len(data) < HEADER_BYTES:
            self._early = data
            return None
        self._early = b""
        length, slot, attached = HEADER.unpack_from(data)
        self._channel.check_size(length, slot, attached)
        end = HEADER_BYTES + length
        missing = end + (0 if slot else attached) - len(data)
        if missing < 0:
            raise ConnectionResetError("the server sent more than a reply")
        if attached or missing:
            return self._begin(data, end, slot, attached)
        return Reply(data[HEADER_BYTES:])

    def _begin(self, data: bytes, end: int, slot: int, attached: int) -> Reply | None:
        """Allocates the buffers of a reply that has attachments or is incomplete."""
        self._slot, self._attached = slot, attached
        self._message = bytearray(data[HEADER_BYTES:end])
        early = len(self._message)
        self._message.extend(bytes(end - HEADER_BYTES - early))
        rest = [memoryview(self._message)[early:]]
        self._area = None
        if attached and not slot:
            self._area = np.empty(attached, np.uint8)
            begun = max(0, len(data) - end)
            self._area[:begun] = np.frombuffer(data, np.uint8, begun, len(data) - begun)
            rest.append(self._area.data[begun:])
        self._rest = [part for part in rest if part]
        return self._receive_rest() if self._rest else self._whole()

    def _receive_rest(self) -> Reply | None:
        rest = self._rest
        try:
            taken = self._socket.recvmsg_into(rest, 0, socket.MSG_DONTWAIT)[0]
        except (BlockingIOError, InterruptedError):
            return None
        if not taken:
            raise ConnectionResetError("the connection ended inside a frame")
        while rest and taken >= len(rest[0]):
            taken -= len(rest.pop(0))
        if rest:
            rest[0] = rest[0][taken:]
            return None
        return self._whole()

    def _whole(self) -> Reply:
        message, area = bytes(self._message), self._area
        self._area = None
        if self._slot:
            area = self._channel.in_memory(self._slot, self._attached)
        return Reply(message, area)
