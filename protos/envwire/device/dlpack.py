"""DLPack, by which libraries of arrays exchange arrays without copying: capsules to read, and capsules to give away.

https://dmlc.github.io/dlpack/latest/c_api.html describes the structures. Those without a version are used, which every
library reads and writes.
"""

from __future__ import annotations

import ctypes
import math
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

DLPACK_CPU: Final = 1
"""DLPack's number for the processor."""
DLPACK_CUDA: Final = 2
"""DLPack's number for a GPU with CUDA."""
#: Types of devices whose memory the processor can read: its own, and memory that is pinned for CUDA.
_READABLE: Final = frozenset({DLPACK_CPU, 3})
#: Numbers of element types by NumPy's kind of them.
_CODES: Final = {"i": 0, "u": 1, "f": 2, "c": 5, "b": 6}
_SIZES: Final = {"i": (1, 2, 4, 8), "u": (1, 2, 4, 8), "f": (2, 4, 8), "c": (8, 16), "b": (1,)}
_DTYPES: Final = {
    (code, 8 * size): np.dtype(f"{kind}{size}")
    for kind, code in _CODES.items()
    for size in _SIZES[kind]
}
_NAME: Final = b"dltensor"


class NotSharedError(TypeError):
    """A value offers no array that can be copied into shared memory."""


class _Device(ctypes.Structure):
    _fields_ = (("kind", ctypes.c_int32), ("number", ctypes.c_int32))


class _DataType(ctypes.Structure):
    _fields_ = (("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16))


class _Tensor(ctypes.Structure):
    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device", _Device),
        ("ndim", ctypes.c_int32),
        ("dtype", _DataType),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    )


class _ManagedTensor(ctypes.Structure):
    _fields_ = (
        ("tensor", _Tensor),
        ("context", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
    )


# Functions of their own, since attributes of `ctypes.pythonapi` are shared by all users. The destructor of a capsule
# has to pass it as an address: it is being freed, and must not be referred to.
_API: Final = ctypes.PyDLL(None)
_new_capsule: Final = ctypes.PYFUNCTYPE(
    ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p
)(("PyCapsule_New", _API))
_is_valid: Final = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p)(
    ("PyCapsule_IsValid", _API)
)
_address_in: Final = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", _API)
)


@dataclass(slots=True)
class Borrowed:
    """An array of some library, as long as this object lives.

    Attributes:
        address: Where its elements are, packed in C order.
        shape: Its shape.
        dtype: Its element type.
        device: Type and number of its device.
        capsule: Keeps it alive.
    """

    address: int
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    device: tuple[int, int]
    capsule: object

    @property
    def nbytes(self) -> int:
        """Size of the elements, in bytes."""
        return math.prod(self.shape) * self.dtype.itemsize

    @property
    def on_host(self) -> bool:
        """Whether the processor can read it."""
        return self.device[0] in _READABLE


def device_of(value: Any) -> tuple[int, int]:
    """Returns type and number of the device of an array.

    Raises:
        NotSharedError: It has no `__dlpack__`, or does not tell.
    """
    try:
        kind, number = value.__dlpack_device__()
    except Exception as error:
        raise NotSharedError(f"no array of DLPack: {error!r}") from error
    return int(kind), int(number)


def borrow(value: Any, stream: int | None) -> Borrowed:
    """Returns an array of any library that has DLPack, packed in C order; one of another layout is copied.

    Args:
        value: The array.
        stream: The stream that is going to read it, which waits until it is computed; None on the host.

    Raises:
        NotSharedError: It is no array, or has elements of a type that NumPy has not.
    """
    detach = getattr(value, "detach", None)
    value = (
        detach() if detach is not None else value
    )  # torch gives away no part of a graph of gradients
    found = _borrowed(value, stream)
    found = _borrowed(_packed(value), stream) if found is None else found
    if found is None:
        raise NotSharedError("its elements cannot be packed in C order")
    return found


def _borrowed(value: Any, stream: int | None) -> Borrowed | None:
    """Returns an array; None if its elements are not packed in C order."""
    try:
        capsule: Any = value.__dlpack__() if stream is None else value.__dlpack__(stream=stream)
        address = _address_in(id(capsule), _NAME)
    except Exception as error:
        raise NotSharedError(f"no array of DLPack: {error!r}") from error
    tensor = _ManagedTensor.from_address(address).tensor
    code, bits = tensor.dtype.code, tensor.dtype.bits
    dtype = _DTYPES.get((code, bits)) if tensor.dtype.lanes == 1 else None
    if dtype is None:
        raise NotSharedError(f"elements of DLPack's type {code} of {bits} bits")
    shape = tuple(tensor.shape[: tensor.ndim])
    if tensor.strides and not _is_packed(shape, tensor.strides[: tensor.ndim]):
        return None
    device = tensor.device.kind, tensor.device.number
    start = (tensor.data or 0) + tensor.byte_offset
    return Borrowed(start, shape, dtype, device, capsule)


def _is_packed(shape: tuple[int, ...], strides: list[int]) -> bool:
    expected = 1
    for length, stride in zip(reversed(shape), reversed(strides), strict=True):
        if length > 1 and stride != expected:
            return False
        expected *= max(length, 1)
    return True


def _packed(value: Any) -> Any:
    """Returns a copy of an array in C order, by the methods of torch, or of CuPy and NumPy."""
    contiguous = getattr(value, "contiguous", None)
    return value.copy(order="C") if contiguous is None else contiguous()


#: What is given away, by the address of its structure, until the library that took it has freed it.
_given: Final[dict[int, object]] = {}


def _free(address: int) -> None:
    _given.pop(address, None)


def _free_untaken(capsule: int) -> None:
    if _is_valid(capsule, _NAME):  # a library that takes it gives it another name
        _given.pop(_address_in(capsule, _NAME), None)


# Kept for good, since a library may free an array at any time. The first is called without Python's lock, and takes it.
_CALLBACKS: Final = (
    ctypes.CFUNCTYPE(None, ctypes.c_void_p)(_free),
    ctypes.PYFUNCTYPE(None, ctypes.c_void_p)(_free_untaken),
)
_FREE, _FREE_UNTAKEN = (ctypes.cast(each, ctypes.c_void_p) for each in _CALLBACKS)


def capsule_of(
    address: int,
    shape: tuple[int, ...],
    dtype: np.dtype[Any],
    device: tuple[int, int],
    owner: object,
) -> object:
    """Returns the capsule of an array in C order.

    Args:
        address: Where its elements are.
        shape: Its shape.
        dtype: Its element type.
        device: Type and number of its device.
        owner: Is kept alive for as long as the array is used.
    """
    axes = len(shape)
    shape_field = (ctypes.c_int64 * axes)(*shape)
    strides = [math.prod(shape[axis + 1 :]) for axis in range(axes)]
    strides_field = (ctypes.c_int64 * axes)(*strides)
    pointer = ctypes.POINTER(ctypes.c_int64)
    tensor = _Tensor(
        data=address,
        device=_Device(*device),
        ndim=axes,
        dtype=_DataType(_CODES[dtype.kind], dtype.itemsize * 8, 1),
        shape=ctypes.cast(shape_field, pointer),
        strides=ctypes.cast(strides_field, pointer),
    )
    managed = _ManagedTensor(tensor=tensor, deleter=_FREE)
    at = ctypes.addressof(managed)
    _given[at] = managed, shape_field, strides_field, owner
    return _new_capsule(at, _NAME, _FREE_UNTAKEN)
