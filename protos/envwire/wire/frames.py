"""Frames of a direct channel: a header, a message, and its attachments.

Copying an array through a message costs ten times what the wire costs. So a message may refer to arrays instead, by
their offsets among the attachments of its frame: the sender gathers them from where they are, the receiver lays its
arrays over the bytes as they arrived.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from typing import TypeAlias

PREAMBLE: Final = b"envwire\x01"
"""First bytes that a client sends, so that a server of another protocol can reject the connection at once."""

HEADER: Final = struct.Struct("<IIQ")
"""Bytes of the message, where its attachments are, bytes of the attachments.

Where: 0 if they follow the message; n if they are in slot n - 1 of the shared memory.
"""

HEADER_BYTES: Final = HEADER.size
ALIGNMENT: Final = 64
"""Each attachment begins at a multiple of this."""

ATTACHED_FROM: Final = 4096
"""Smaller arrays stay in the message: copying them costs less than attaching them."""

_PADDING: Final = bytes(ALIGNMENT)

Area: TypeAlias = npt.NDArray[np.uint8]
"""The attachments of one frame as they arrived, in fresh memory of their own."""


class Attachments:
    """The arrays that go beside one message.

    Attributes:
        buffers: Their bytes in order, padding between them. They are not copied: the arrays must stay as they are until
            the frame is sent.
        length: Bytes in all.
    """

    __slots__ = ("buffers", "length")

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
        """Takes back what was added after there were so many buffers and bytes."""
        del self.buffers[buffers:]
        self.length = length


def _bytes_of(array: npt.NDArray[Any]) -> memoryview:
    rows: Any = np.ascontiguousarray(array)
    elements: Area = rows.reshape(-1).view(np.uint8)
    return elements.data


@dataclass(slots=True)
class Packet:
    """A message that is to be sent, and the arrays beside it.

    There is one for each step, as there is a `Reply`: a named tuple takes longer to make.
    """

    message: bytes
    attachments: Attachments | None = None

    @property
    def size(self) -> int:
        """Bytes of both."""
        beside = self.attachments
        return len(self.message) + (0 if beside is None else beside.length)


@dataclass(slots=True)
class Reply:
    """A message that arrived, and what was attached to it."""

    message: bytes
    area: Area | None = None
