"""Tunes malloc in the server's processes, so that memory freed by large messages is reused for the next ones.

By default the C library returns a freed megabyte to the kernel, and the next message faults in each page again, which
costs more than copying it. The front and sessions with large actions handle one large message after another and keep
some memory. Other sessions do not, since there may be thousands.
"""

from __future__ import annotations

import ctypes
from functools import cache

_TRIM_THRESHOLD, _MMAP_THRESHOLD, _ARENA_MAX = -1, -3, -8
_MEGABYTE = 1 << 20
#: Free memory at the end of the heap beyond this is returned to the kernel.
_TRIM_ABOVE = 64 * _MEGABYTE
#: Larger blocks are mapped separately, and returned to the kernel at once. The C library allows no larger value.
_MAP_ABOVE = 32 * _MEGABYTE
#: More free memory than this is the remains of a burst of requests rather than of two large messages.
_BURST_BYTES = 24 * _MEGABYTE


@cache
def keep_freed_memory() -> None:
    """Sets this process's malloc options, once; does nothing if the C library does not have them."""
    _set_option(_MMAP_THRESHOLD, _MAP_ABOVE)
    _set_option(_TRIM_THRESHOLD, _TRIM_ABOVE)


def _set_option(option: int, value: int) -> None:
    adjust = getattr(ctypes.CDLL(None), "mallopt", None)
    if adjust is not None:
        adjust(option, value)


class _Usage(ctypes.Structure):
    """The C library's struct mallinfo2."""

    _names = "arena ordblks smblks hblks hblkhd usmblks fsmblks uordblks fordblks keepcost"
    _fields_ = [(name, ctypes.c_size_t) for name in _names.split()]


def use_one_heap() -> None:
    """Makes all threads allocate from one heap; to be called before threads exist.

    Otherwise each of gRPC's threads gets its own heap, which keeps its free memory: only the first can be trimmed.
    """
    _set_option(_ARENA_MAX, 1)


class Heap:
    """Returns freed memory to the kernel after a burst; the C library itself keeps what lies below used blocks."""

    def __init__(self) -> None:
        library = ctypes.CDLL(None)
        self._trim = getattr(library, "malloc_trim", None)
        self._usage = getattr(library, "mallinfo2", None)
        if self._usage is not None:
            self._usage.restype = _Usage
        self._free = 0

    def trim(self) -> None:
        """Returns memory if much was free at two calls in a row; to be called every few seconds."""
        if self._trim is None or self._usage is None:
            return
        before, self._free = self._free, self._usage().fordblks
        if min(before, self._free) > _BURST_BYTES:
            self._trim(0)
            self._free = 0
