"""The devices whose memory two processes can share, and that memory: named, identified, allocated, imported."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from envwire.v1 import direct_pb2

if TYPE_CHECKING:
    from envwire.device.dlpack import Borrowed


HOST: Final = direct_pb2.DEVICE_KIND_HOST
CUDA: Final = direct_pb2.DEVICE_KIND_CUDA

DLPACK_CPU: Final = 1
"""DLPack's number for the processor."""
DLPACK_CUDA: Final = 2
"""DLPack's number for a GPU with CUDA."""

_NAMES: Final = re.compile(r"host|cuda(:(\d{1,3}))?")


class DeviceError(OSError):
    """Memory of a device cannot be shared: it is short, the device is missing, or its driver reports an error."""


class Identity(NamedTuple):
    """A device, by what names it in all processes of a machine.

    Attributes:
        kind: A value of `DeviceKind`.
        uuid: The UUID of a GPU, 16 bytes; empty for the host.
    """

    kind: int
    uuid: bytes = b""


def check_device_name(name: str) -> int | None:
    """Returns the number in the name of a GPU, 0 if it has none; None for the host.

    Raises:
        ValueError: It is no name of a device.
    """
    match = _NAMES.fullmatch(name) if isinstance(name, str) else None  # pyright: ignore[reportUnnecessaryIsInstance]
    if match is None:
        raise ValueError(f"device={name!r} is no device; choose 'host', 'cuda' or 'cuda:N'")
    return None if name == "host" else int(match[2] or 0)


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


def identify(name: str) -> Identity:
    """Returns the identity of a device of this process.

    Args:
        name: "host", "cuda" or "cuda:1".

    Raises:
        ValueError: It is no name of a device.
        DeviceError: There is no such device, or nothing here that can share its memory.
    """
    number = check_device_name(name)
    return Identity(HOST) if number is None else Identity(CUDA, _cuda().uuid_of(number))


def allocate(identity: Identity, size: int) -> DeviceMemory:
    """Allocates memory that another process can import.

    Raises:
        DeviceError: It cannot be allocated.
    """
    memory: DeviceMemory = _implementation(identity.kind).allocate(identity.uuid, size)
    return memory


def import_memory(identity: Identity, descriptor: int, size: int) -> DeviceMemory:
    """Maps memory that another process allocated.

    Args:
        identity: The device.
        descriptor: From the other process; the caller closes it.
        size: Bytes.

    Raises:
        DeviceError: It is no such memory, or smaller.
    """
    kind = _implementation(identity.kind)
    memory: DeviceMemory = kind.imported(identity.uuid, descriptor, size)
    return memory


def _host() -> Any:
    from envwire.device.host_memory import HostMemory

    return HostMemory


def _cuda() -> Any:
    try:
        from envwire.device.cuda_memory import CudaMemory
    except ImportError as error:
        raise DeviceError(
            f"NVIDIA's package cuda-bindings is missing here ({error}); pip install 'envwire[cuda]'"
        ) from error
    return CudaMemory


_IMPLEMENTATIONS: Final[dict[int, Callable[[], Any]]] = {HOST: _host, CUDA: _cuda}


def _implementation(kind: int) -> Any:
    if kind not in _IMPLEMENTATIONS:
        raise DeviceError(f"devices of kind {kind} are unknown here")
    return _IMPLEMENTATIONS[kind]()
