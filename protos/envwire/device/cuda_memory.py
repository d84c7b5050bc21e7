"""Memory of a GPU that two processes share, by CUDA's driver. Nothing else in the project knows CUDA.

The memory is one physical allocation that each process maps for itself (`cuMemCreate`, `cuMemMap`). A descriptor stands
for it, as for shared memory of the machine, so it needs no common name space of processes: two containers that share a
socket can use it. A mapping cannot be larger than the allocation, so a size that the other process made up is refused.
"""

from __future__ import annotations

import contextlib
import os
import weakref
from collections.abc import Generator, Iterable, Sequence
from functools import cache, lru_cache
from importlib import import_module
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from envwire.device.device_memory import DeviceError, Put
from envwire.device.dlpack import DLPACK_CPU, DLPACK_CUDA

#: Package `cuda-bindings`, which has no types. Its functions return a status, and what they found.
driver: Any = import_module("cuda.bindings.driver")
_DESCRIPTOR: Final = driver.CUmemAllocationHandleType.CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR


class CudaMemory:
    """Memory of a GPU (see `DeviceMemory`).

    Args:
        number: The GPU, as CUDA counts them in this process.
        handle: The allocation, which this object releases.
        size: Bytes, a multiple of the GPU's granularity.
        descriptor: Stands for it in other processes; this object closes it.
    """

    def __init__(self, number: int, handle: Any, size: int, descriptor: int = -1) -> None:
        self.size = size
        self.device = (DLPACK_CUDA, number)
        self.descriptor = descriptor
        self._context = _context(number)
        with _current(self._context):
            self.address = _mapped(number, handle, size)
            self._stream = _checked(
                driver.cuStreamCreate(driver.CUstream_flags.CU_STREAM_NON_BLOCKING)
            )
        self.stream = int(self._stream)
        held = self._context, self.address, size, self._stream
        weakref.finalize(self, _unmap, *held).atexit = False

    @classmethod
    def allocate(cls, uuid: bytes, size: int) -> CudaMemory:
        """Allocates memory on the GPU with this UUID.

        Raises:
            DeviceError: There is no such GPU, or too little memory is left.
        """
        number = number_of(uuid)
        with _current(_context(number)):
            wanted = _properties(number)
            grain = _checked(
                driver.cuMemGetAllocationGranularity(
                    wanted,
                    driver.CUmemAllocationGranularity_flags.CU_MEM_ALLOC_GRANULARITY_MINIMUM,
                )
            )
            size = -(-size // grain) * grain
            handle = _checked(driver.cuMemCreate(size, wanted, 0))
            with _released(handle):
                descriptor = int(
                    _checked(driver.cuMemExportToShareableHandle(handle, _DESCRIPTOR, 0))
                )
                return cls._owning(number, handle, size, descriptor)

    @classmethod
    def imported(cls, uuid: bytes, descriptor: int, size: int) -> CudaMemory:
        """Maps memory that another process allocated on the GPU with this UUID.

        Raises:
            DeviceError: There is no such GPU, the descriptor is no memory of it, or the memory is smaller.
        """
        number = number_of(uuid)
        with _current(_context(number)):
            handle = _checked(driver.cuMemImportFromShareableHandle(descriptor, _DESCRIPTOR))
            with _released(handle):
                return cls(number, handle, size)

    @classmethod
    def _owning(cls, number: int, handle: Any, size: int, descriptor: int) -> CudaMemory:
        try:
            return cls(number, handle, size, descriptor)
        except BaseException:
            os.close(descriptor)
            raise

    @staticmethod
    def uuid_of(number: int) -> bytes:
        """Returns the UUID of a GPU.

        Raises:
            DeviceError: There is no such GPU.
        """
        _start()
        return bytes(_checked(driver.cuDeviceGetUuid(_checked(driver.cuDeviceGet(number)))).bytes)

    def read(self, offset: int, length: int) -> npt.NDArray[np.uint8]:
        """Returns a copy of some bytes (see `DeviceMemory.read`)."""
        taken = np.empty(length, np.uint8)
        with _current(self._context):
            source = self.address + offset
            _checked(driver.cuMemcpyDtoHAsync(taken.ctypes.data, source, length, self._stream))
            _checked(driver.cuStreamSynchronize(self._stream))
        return taken

    def reaches(self, device: tuple[int, int]) -> bool:
        """Returns whether an array is on this GPU or the host (see `DeviceMemory.reaches`)."""
        return device == self.device or device[0] == DLPACK_CPU

    def write(self, puts: Sequence[Put], streams: Iterable[int]) -> None:
        """Copies arrays, and waits for this process's work (see `DeviceMemory.write`)."""
        if puts or streams:
            with _current(self._context):
                _write(self.address, puts, streams, self._stream)

    def close_descriptor(self) -> None:
        """Closes the descriptor (see `DeviceMemory.close_descriptor`)."""
        descriptor, self.descriptor = self.descriptor, -1
        if descriptor >= 0:
            os.close(descriptor)

    def __del__(self) -> None:
        if getattr(self, "descriptor", -1) >= 0:
            self.close_descriptor()


class PinnedMemory:
    """Memory of the host that a GPU reads and writes itself, many times faster than other memory of the host.

    Args:
        number: The GPU, as CUDA counts them in this process.
        address: Where the memory begins.
        size: Bytes.
    """

    def __init__(self, number: int, address: int, size: int) -> None:
        _start()
        self._context, self._address = _context(number), address
        with _current(self._context):
            _checked(driver.cuMemHostRegister(address, size, driver.CU_MEMHOSTREGISTER_PORTABLE))
        weakref.finalize(self, _unpin, self._context, address).atexit = False

    def write(self, puts: Sequence[Put], streams: Iterable[int]) -> None:
        """Copies arrays of the GPU into the memory (see `DeviceMemory.write`)."""
        with _current(self._context):
            _write(self._address, puts, streams, None)


def _write(address: int, puts: Sequence[Put], streams: Iterable[int], own_stream: Any) -> None:
    waited = set(map(_stream, streams))
    for array, offset, stream in puts:
        copied_on = own_stream if stream is None else _stream(stream)
        waited.add(copied_on)
        _checked(driver.cuMemcpyAsync(address + offset, array.address, array.nbytes, copied_on))
    for each in waited:
        _checked(driver.cuStreamSynchronize(each))


def _unpin(context: Any, address: int) -> None:
    with contextlib.suppress(DeviceError), _current(context):
        driver.cuMemHostUnregister(address)


def number_of(uuid: bytes) -> int:
    """Returns the number that a GPU has in this process.

    Raises:
        DeviceError: It is not visible here.
    """
    _start()
    count: int = _checked(driver.cuDeviceGetCount())
    for number in range(count):
        if CudaMemory.uuid_of(number) == uuid:
            return number
    raise DeviceError(
        f"the GPU with UUID {uuid.hex()} is not among the {count} that this process sees; give both the same one "
        "(CUDA_VISIBLE_DEVICES, --gpus)"
    )


@cache
def _start() -> None:
    try:
        started = driver.cuInit(0)
    except RuntimeError as error:  # the package is installed, but its functions are the driver's
        raise DeviceError("NVIDIA's driver is missing here") from error
    _checked(started)


@lru_cache(maxsize=256)
def _stream(number: int) -> Any:
    return driver.CUstream(number)


@cache
def _context(number: int) -> Any:
    """Returns the context of a GPU that all libraries of this process share."""
    return _checked(driver.cuDevicePrimaryCtxRetain(_checked(driver.cuDeviceGet(number))))


@contextlib.contextmanager
def _current(context: Any) -> Generator[None, None, None]:
    if int(_checked(driver.cuCtxGetCurrent())) == int(context):  # as torch leaves it
        yield
        return
    _checked(driver.cuCtxPushCurrent(context))
    try:
        yield
    finally:
        _checked(driver.cuCtxPopCurrent())


@contextlib.contextmanager
def _released(handle: Any) -> Generator[None, None, None]:
    """Releases an allocation afterwards, which lives on for as long as it is mapped."""
    try:
        yield
    finally:
        _checked(driver.cuMemRelease(handle))


def _place(number: int) -> Any:
    place = driver.CUmemLocation()
    place.type = driver.CUmemLocationType.CU_MEM_LOCATION_TYPE_DEVICE
    place.id = number
    return place


def _properties(number: int) -> Any:
    wanted = driver.CUmemAllocationProp()
    wanted.type = driver.CUmemAllocationType.CU_MEM_ALLOCATION_TYPE_PINNED
    wanted.requestedHandleTypes = _DESCRIPTOR
    wanted.location = _place(number)
    return wanted


def _mapped(number: int, handle: Any, size: int) -> int:
    """Maps an allocation, and returns its address."""
    address = _checked(driver.cuMemAddressReserve(size, 0, 0, 0))
    try:
        _checked(driver.cuMemMap(address, size, 0, handle, 0))
        access = driver.CUmemAccessDesc()
        access.location = _place(number)
        access.flags = driver.CUmemAccess_flags.CU_MEM_ACCESS_FLAGS_PROT_READWRITE
        try:
            _checked(driver.cuMemSetAccess(address, size, [access], 1))
        except DeviceError:
            _checked(driver.cuMemUnmap(address, size))
            raise
    except DeviceError:
        _checked(driver.cuMemAddressFree(address, size))
        raise
    return int(address)


def _unmap(context: Any, address: int, size: int, stream: Any) -> None:
    """Unmaps memory that nothing in this process refers to, once all that was begun with it is done."""
    with contextlib.suppress(DeviceError), _current(context):  # the GPU may have failed
        driver.cuCtxSynchronize()
        driver.cuStreamDestroy(stream)
        driver.cuMemUnmap(address, size)
        driver.cuMemAddressFree(address, size)


def _checked(result: tuple[Any, ...]) -> Any:
    """Returns what a function of the driver returned.

    Raises:
        DeviceError: It failed.
    """
    status, *values = result
    if int(status):
        _, name = driver.cuGetErrorName(status)
        raise DeviceError(f"the GPU's driver reports {(name or b'an unknown error').decode()}")
    return values[0] if len(values) == 1 else values
