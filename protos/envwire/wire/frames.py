"""Frames of a direct channel: a header, a message, and its attachments.

Copying an array through a message costs ten times as much as sending it. So a message may refer to arrays by their
offsets among the attachments of its frame: the sender sends them from where they are, and the receiver's arrays are
views of the received bytes.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt

from envwire.wire.device_arrays import DeviceArrays

PREAMBLE: Final = b"envwire\x01"
"""The first bytes that a client sends; a server rejects a connection of another protocol by them at once."""

HEADER: Final = struct.Struct("<IIQ")
"""Length of the message, location of its attachments, length of the attachments; lengths in bytes.

Location: 0 if they follow the message; n if they are in slot n - 1 of the shared memory.
"""

HEADER_BYTES: Final = HEADER.size
ALIGNMENT: Final = 64
"""Each attachment begins at a multiple of this offset, in bytes."""

ATTACHED_FROM: Final = 4096
"""Smallest array that is attached, in bytes: copying a smaller one costs less than attaching it."""

_PADDING: Final = bytes(ALIGNMENT)

Area: TypeAlias = npt.NDArray[np.uint8]
"""The received attachments of one frame, in memory of their own."""


class Attachments:
    """The arrays that are sent with one message.

    Attributes:
        buffers: Their bytes in order, with padding in between. Nothing is copied, so the arrays must not change until
            the frame is sent.
        length: Total length, in bytes.
        arrays: Takes the arrays of other libraries that stay on a device; None if there is no memory for them.
    """

    __slots__ = ("buffers", "length")

    arrays: DeviceArrays | None = None

    def __init__(self) -> None:
        self.buffers: list[memoryview | bytes] = []
        self.length = 0

    def add(self, array: npt.NDArray[Any]) -> int:
        """Adds an array in its wire form and returns its offset."""
        if gap := -self.length % ALIGNMENT:
            self.buffers.append(_PADDING[:gap])
            self.length += gap
        offset = self.length
        self.buffers.append(_bytes_of(array))
        self.length += array.nbytes
        return offset

    def cut(self, buffers: int, length: int) -> None:
        """Cuts the attachments back to an earlier number of buffers and an earlier length."""
        del self.buffers[buffers:]
        self.length = length


class DeviceAttachments(Attachments):
    """Attachments beside which arrays of other libraries stay on a device.

    Args:
        arrays: Takes those.
    """

    __slots__ = ("arrays",)

    def __init__(self, arrays: DeviceArrays) -> None:
        super().__init__()
        self.arrays: DeviceArrays | None = arrays
        arrays.begin()


def _bytes_of(array: npt.NDArray[Any]) -> memoryview:
    rows: Any = np.ascontiguousarray(array)
    elements: Area = rows.reshape(-1).view(np.uint8)
    return elements.data


@dataclass(slots=True)
class Packet:
    """A message to send, and its attachments.

    Each step makes a `Packet` and a `Reply`, so neither is a named tuple, which takes longer to make.
    """

    message: bytes
    attachments: Attachments | None = None

    @property
    def size(self) -> int:
        """Length of message and attachments, in bytes."""
        beside = self.attachments
        return len(self.message) + (0 if beside is None else beside.length)


@dataclass(slots=True)
class Reply:
    """A received message, and its attachments."""

    message: bytes
    area: Area | None = None
