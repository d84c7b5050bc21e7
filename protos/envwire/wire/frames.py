"""Frames of a direct channel: a header, a message, and its attachments.

Copying an array through a message costs ten times as much as sending it. So a message may refer to arrays by their
offsets among the attachments of its frame: the sender sends them from where they are, and the receiver's arrays are
views of the received bytes.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from envwire.v1 import values_pb2


class DeviceArrays(Protocol):
    """The arrays at one end of a channel that shares memory of a device; `SharedArrays` has them."""

    def begin(self) -> None:
        """Begins a message: the arrays of the last one are overwritten."""

    def put(self, value: object, tensor: values_pb2.Tensor) -> bool:
        """Writes an array of a library into the memory; returns False if it has to go into the message."""
        ...

    def take(self, tensor: values_pb2.Tensor) -> Any:
        """Returns the array of a tensor that is in the memory."""
        ...

    def repeat_puts(self, values: Sequence[Any]) -> Callable[[Sequence[Any]], bool] | None:
        """Returns what puts arrays of the same forms at the same places again; None if that is not all of a message."""
        ...

    def repeat_takes(self, values: Sequence[Any]) -> Callable[[], list[Any]] | None:
        """Returns what takes these arrays again, from the next message; None if they are not all of this one."""
        ...

    def placed(self, array: Any) -> Any:
        """Returns an array that came in the message, as one of the library that was asked for."""
        ...

    def finish(self) -> None:
        """Waits until the message may be sent."""

    def answer_in_host_memory(self, answer: bytes, *, own: bool) -> bytes:
        """Returns an InteractResponse, one's own or the other end's, with all its arrays in the message."""
        ...

    def request_in_host_memory(self, request: bytes, *, own: bool) -> bytes:
        """Returns an InteractRequest, one's own or the other end's, with all its arrays in the message."""
        ...


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
