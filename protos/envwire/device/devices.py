"""The devices whose memory can be shared, by name and identity, and the allocation and import of memory there."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final, NamedTuple

from envwire.device.device_memory import DeviceError, DeviceMemory
from envwire.v1 import direct_pb2

HOST: Final = direct_pb2.DEVICE_KIND_HOST
CUDA: Final = direct_pb2.DEVICE_KIND_CUDA

_NAMES: Final = re.compile(r"host|cuda(:(\d{1,3}))?")


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
