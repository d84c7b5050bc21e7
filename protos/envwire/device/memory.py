"""Allocates and imports memory of a device, by the implementation for its kind."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from envwire.device.device_memory import DeviceMemory
from envwire.device.devices import CUDA, HOST, DeviceError, Identity, check_device_name


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
