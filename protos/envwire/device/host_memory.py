"""Memory of the machine that two processes share: for tests on any machine, and for arrays of torch and JAX there."""

from __future__ import annotations

import ctypes
import mmap
import os
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from envwire.device.device_memory import DeviceError, Put
from envwire.device.dlpack import DLPACK_CPU, DLPACK_CUDA

if TYPE_CHECKING:
    from envwire.device.cuda_memory import PinnedMemory


class HostMemory:
    """Shared memory of the machine (see `DeviceMemory`).

    Args:
        mapped: The memory.
        descriptor: Stands for it in other processes; this object closes it.
    """

    device = (DLPACK_CPU, 0)
    stream = None

    def __init__(self, mapped: mmap.mmap, descriptor: int = -1) -> None:
        self.size = len(mapped)
        self.descriptor = descriptor
        self._bytes: npt.NDArray[np.uint8] = np.frombuffer(mapped, np.uint8)
        self.address: int = self._bytes.ctypes.data
        #: The memory as GPUs reach it, by their numbers; None for one that cannot.
        self._pinned: dict[int, PinnedMemory | None] = {}

    @classmethod
    def allocate(cls, _: bytes, size: int) -> HostMemory:
        """Allocates memory.

        Raises:
            DeviceError: Too little is left, or the system has none of this kind.
        """
        descriptor = -1
        try:
            import fcntl

            descriptor = os.memfd_create("envwire-device", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
            # Allocates the pages now: writing to a page when no memory is left would kill the process.
            os.posix_fallocate(descriptor, 0, size)
            # Sealed, so that the other process cannot shrink it.
            seals = fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL
            fcntl.fcntl(descriptor, fcntl.F_ADD_SEALS, seals)
            return cls(mmap.mmap(descriptor, size), descriptor)
        except (OSError, ImportError, AttributeError, ValueError) as error:
            if descriptor >= 0:
                os.close(descriptor)
            raise DeviceError(f"{size} bytes of shared memory: {error}") from error

    @classmethod
    def imported(cls, _: bytes, descriptor: int, size: int) -> HostMemory:
        """Maps memory that another process allocated.

        Raises:
            DeviceError: It is smaller, may shrink, or is no memory.
        """
        try:
            import fcntl

            # Touching what is gone would kill this process.
            if not fcntl.fcntl(descriptor, fcntl.F_GET_SEALS) & fcntl.F_SEAL_SHRINK:
                raise DeviceError("shared memory that may shrink")
            return cls(mmap.mmap(descriptor, size))
        except (OSError, ImportError, AttributeError, ValueError, OverflowError) as error:
            raise DeviceError(f"{size} bytes of shared memory cannot be mapped: {error}") from error

    def read(self, offset: int, length: int) -> npt.NDArray[np.uint8]:
        """Returns a copy of some bytes (see `DeviceMemory.read`)."""
        return np.array(self._bytes[offset : offset + length])

    def reaches(self, device: tuple[int, int]) -> bool:
        """Returns whether an array is on the host, or on a GPU that can copy it here (see `DeviceMemory.reaches`)."""
        kind, number = device
        if kind == DLPACK_CPU:
            return True
        if number not in self._pinned:
            self._pinned[number] = self._pin(number) if kind == DLPACK_CUDA else None
        return self._pinned[number] is not None

    def _pin(self, number: int) -> PinnedMemory | None:
        """Has a GPU reach the memory; returns None if it cannot."""
        try:
            from envwire.device.cuda_memory import PinnedMemory

            return PinnedMemory(number, self.address, self.size)
        except (ImportError, DeviceError):
            return None

    def write(self, puts: Sequence[Put], streams: Iterable[int]) -> None:
        """Copies arrays into the memory (see `DeviceMemory.write`)."""
        on_gpus: dict[int, list[Put]] = {}
        for put in puts:
            array, offset, _ = put
            if array.on_host:
                ctypes.memmove(self.address + offset, array.address, array.nbytes)
            else:
                on_gpus.setdefault(array.device[1], []).append(put)
        for number, own in on_gpus.items():
            if (pinned := self._pinned[number]) is not None:
                pinned.write(own, streams)

    def close_descriptor(self) -> None:
        """Closes the descriptor (see `DeviceMemory.close_descriptor`)."""
        descriptor, self.descriptor = self.descriptor, -1
        if descriptor >= 0:
            os.close(descriptor)

    def __del__(self) -> None:
        descriptor: Any = getattr(self, "descriptor", -1)
        if descriptor >= 0:
            self.close_descriptor()
