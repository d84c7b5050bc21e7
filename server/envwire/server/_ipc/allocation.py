"""How the server's processes allocate: memory of large messages is kept for the next ones.

By default the C library gives a freed megabyte back to the kernel, and the next message pays for each of its pages
anew, which costs more than copying it. The front relays one large message after another, and a session whose actions
are large gets one after another: they keep some. Other sessions do not, for there may be thousands.
"""

from __future__ import annotations

import ctypes
from functools import cache

_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3
_MEGABYTE = 1 << 20
#: What is freed at the end of the heap beyond this goes back to the kernel.
_KEPT = 64 * _MEGABYTE
#: Larger blocks are the kernel's own, and go back at once; the C library allows no more.
_OWN = 32 * _MEGABYTE


@cache
def keep_freed_memory() -> None:
    """Sets this process's allocation, once; where the C library has no such settings nothing happens."""
    adjust = getattr(ctypes.CDLL(None), "mallopt", None)
    if adjust is not None:
        adjust(_MMAP_THRESHOLD, _OWN)
        adjust(_TRIM_THRESHOLD, _KEPT)
