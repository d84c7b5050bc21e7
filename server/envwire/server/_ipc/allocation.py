"""Tunes the allocator of the server's processes: freed memory of large messages is kept for the next ones.

By default the C library gives a freed megabyte back to the kernel, and the next message pays for each of its pages
anew, which costs more than copying it. The front relays one large message after another, and a session whose actions
are large gets one after another: they keep some. Other sessions do not, for there may be thousands.
"""

from __future__ import annotations

import ctypes
from functools import cache

_TRIM_THRESHOLD, _MMAP_THRESHOLD, _ARENA_MAX = -1, -3, -8
_MEGABYTE = 1 << 20
#: Free memory at the end of the heap beyond this goes back to the kernel.
_KEPT = 64 * _MEGABYTE
#: Larger blocks are mapped, and go back to the kernel at once. The C library allows no larger value.
_OWN = 32 * _MEGABYTE
#: More free memory than this is left by a burst of requests, not by two large messages.
_STORM = 24 * _MEGABYTE


@cache
def keep_freed_memory() -> None:
    """Sets this process's allocation, once; where the C library has no such settings nothing happens."""
    adjust = getattr(ctypes.CDLL(None), "mallopt", None)
    if adjust is not None:
        adjust(_MMAP_THRESHOLD, _OWN)
        adjust(_TRIM_THRESHOLD, _KEPT)


class _Usage(ctypes.Structure):
    """What the C library calls mallinfo2."""

    _fields_ = [
        (name, ctypes.c_size_t)
        for name in (
            *("arena", "ordblks", "smblks", "hblks", "hblkhd"),
            *("usmblks", "fsmblks", "uordblks", "fordblks", "keepcost"),
        )
    ]


def use_one_heap() -> None:
    """Lets all threads allocate from one heap, if called before there are any.

    Each heap keeps what is free at its end, and there is one for each thread of gRPC: only the first can be trimmed.
    """
    adjust = getattr(ctypes.CDLL(None), "mallopt", None)
    if adjust is not None:
        adjust(_ARENA_MAX, 1)


class Heap:
    """Gives freed memory back to the kernel after a burst of requests: the C library keeps it below blocks in use."""

    def __init__(self) -> None:
        library = ctypes.CDLL(None)
        self._trim = getattr(library, "malloc_trim", None)
        self._usage = getattr(library, "mallinfo2", None)
        if self._usage is not None:
            self._usage.restype = _Usage
        self._free = 0

    def look(self) -> None:
        """Gives memory back if much was free at two calls in a row; to be called every few seconds."""
        if self._trim is None or self._usage is None:
            return
        before, self._free = self._free, self._usage().fordblks
        if min(before, self._free) > _STORM:
            self._trim(0)
            self._free = 0
