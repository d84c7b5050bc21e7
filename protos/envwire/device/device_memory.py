"""Memory on a device that two processes share: its interface, and where the arrays of a message are in it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt
from google.protobuf.message import Message

from envwire.codec.errors.faults import CodecError
from envwire.codec.messages import nested
from envwire.codec.values.tensors import dtype_of
from envwire.v1 import values_pb2

if TYPE_CHECKING:
    from envwire.device.dlpack import Borrowed


ALIGNMENT: Final = 256
"""Each array begins at a multiple of this offset, in bytes, as those of all libraries do."""


class DeviceError(OSError):
    """Memory of a device cannot be shared: it is short, the device is missing, or its driver reports an error."""


class Put(NamedTuple):
    """An array to copy into memory.

    Attributes:
        array: The array, of the memory's device or of the host.
        offset: Where to.
        stream: The stream on which it is computed; None for the memory's own, which waits for it.
    """

    array: Borrowed
    offset: int
    stream: int | None


class DeviceMemory(Protocol):
    """Memory of a device that two processes share. It is freed when neither of them refers to it.

    Attributes:
        size: Bytes.
        address: Where it begins in this process.
        device: Type and number of the device in this process, as DLPack counts them.
        stream: The stream on which this process copies, for producers of arrays to synchronise with; None on the host.
        descriptor: Stands for the memory in other processes; -1 once it is closed, or for memory that was imported.
    """

    size: int
    address: int
    device: tuple[int, int]
    stream: int | None
    descriptor: int

    def read(self, offset: int, length: int) -> npt.NDArray[np.uint8]:
        """Returns a copy of some bytes in ordinary memory."""
        ...

    def reaches(self, device: tuple[int, int]) -> bool:
        """Returns whether arrays on a device can be copied into the memory."""
        ...

    def write(self, puts: Sequence[Put], streams: Iterable[int]) -> None:
        """Copies arrays into the memory, and waits for that and for everything that was begun on some streams.

        Args:
            puts: The arrays.
            streams: Streams of this process, by DLPack's numbers; those of the arrays among them.
        """

    def close_descriptor(self) -> None:
        """Closes the descriptor. Closing it twice is harmless."""


#: What libraries can count, also for arrays that are empty along another axis.
_MOST_BYTES: Final = 2**62


def span_in(part: range, tensor: values_pb2.Tensor) -> range:
    """Returns the bytes of a tensor in the memory.

    Args:
        part: The part of the memory that its sender writes.
        tensor: The tensor.

    Raises:
        CodecError: They are not inside of the part, or not aligned.
    """
    offset, item = tensor.device.offset, dtype_of(tensor.data_type).itemsize
    length = math.prod(tensor.shape) * item
    extent = math.prod(max(axis, 1) for axis in tensor.shape) * item
    aligned = offset % ALIGNMENT == 0 and not tensor.data and not tensor.fill
    if offset + length > len(part) or extent > _MOST_BYTES or not aligned:
        raise CodecError(
            f"an array of shape {tuple(tensor.shape)} at byte {offset} of {len(part)} on the device",
            f"one inside of them, at a multiple of {ALIGNMENT}, without `data`",
        )
    return range(part.start + offset, part.start + offset + length)


def check_together(length: int, most: int) -> None:
    """Refuses arrays that lie over one another: in a few bytes each, they could take memory without end.

    Args:
        length: Bytes of all arrays of a message.
        most: How many there are.

    Raises:
        CodecError: There are fewer.
    """
    if length > most:
        raise CodecError(
            f"arrays of {length} bytes together on the device", f"at most {most}: none over another"
        )


def in_host_memory(message: Message, memory: DeviceMemory, part: range) -> bytes:
    """Returns a message with all its arrays in it.

    Args:
        message: The message; changed in place.
        memory: Has its arrays.
        part: The part of the memory that its sender writes.

    Raises:
        CodecError: An array is not inside of the part, or they lie over one another.
    """
    length = 0
    for tensor in _tensors(message):
        if tensor.HasField("device"):
            span = span_in(part, tensor)
            length += len(span)
            check_together(length, len(part))
            tensor.data = memory.read(span.start, len(span)).tobytes()
            tensor.ClearField("device")
    return message.SerializeToString()


def _tensors(message: Message) -> Iterator[values_pb2.Tensor]:
    if isinstance(message, values_pb2.Tensor):
        yield message
    else:
        for child in nested(message):
            yield from _tensors(child)
