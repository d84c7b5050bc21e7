"""The interface of memory on a device that two processes share."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from envwire.device.dlpack import Borrowed

ALIGNMENT: Final = 256
"""Each array begins at a multiple of this offset, in bytes, as those of all libraries do."""


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
