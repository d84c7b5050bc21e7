"""Turns pages of a shared mapping into private ones with the same bytes, so that a fork copies them like others."""

from __future__ import annotations

import ctypes
import mmap
import os
from functools import cache
from typing import Any, Final

#: Linux's flags: those that Python's `mmap` lacks, or lacks on other systems.
_FIXED: Final = 0x10
_MAYMOVE_AND_FIXED: Final = 1 | 2
_READ_AND_WRITE: Final = 1 | 2


def make_private(address: int, length: int) -> None:
    """Replaces pages by private ones with the same bytes.

    Args:
        address: Where they begin, at a multiple of the page size.
        length: Bytes, a multiple as well.

    Raises:
        OSError: There is not enough memory.
    """
    libc = _libc()
    copied = _mapped(0, length, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, -1, 0)
    ctypes.memmove(copied, address, length)
    _checked(libc.mremap(copied, length, length, _MAYMOVE_AND_FIXED, address))


def make_shared(address: int, length: int, descriptor: int, offset: int) -> None:
    """Maps pages of shared memory where private ones are.

    Args:
        address: As for `make_private`.
        length: As for `make_private`.
        descriptor: The shared memory.
        offset: Where they begin there.

    Raises:
        OSError: They cannot be mapped.
    """
    _mapped(address, length, mmap.MAP_SHARED | _FIXED, descriptor, offset)


def _mapped(address: int, length: int, flags: int, descriptor: int, offset: int) -> int:
    return _checked(_libc().mmap(address, length, _READ_AND_WRITE, flags, descriptor, offset))


def _checked(address: int | None) -> int:
    if address is None or address == ctypes.c_void_p(-1).value:
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error))
    return address


@cache
def _libc() -> Any:
    libc = ctypes.CDLL(None, use_errno=True)
    pointer, size, number = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int
    libc.mmap.argtypes = pointer, size, number, number, number, ctypes.c_long
    libc.mremap.argtypes = pointer, size, size, number, pointer
    libc.mmap.restype = libc.mremap.restype = pointer
    return libc
