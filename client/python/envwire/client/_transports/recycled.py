"""Memory for large arrays that is used again once no array refers to it: fresh pages cost as much as filling them."""

from __future__ import annotations

import sys
from typing import Final

import numpy as np

from envwire.wire.frames import Area

RECYCLED_FROM: Final = 1 << 20
"""Smallest memory that is kept, in bytes; the allocator has smaller memory at hand."""

#: Memory that is kept: the last array, which the caller still has while the next one comes, and that one.
_MOST_KEPT: Final = 2
#: Without Python's lock, references are counted late.
_COUNTED: Final = hasattr(sys, "getrefcount") and getattr(sys, "_is_gil_enabled", lambda: True)()


def _references(kept: list[Area], index: int) -> int:
    return sys.getrefcount(kept[index])


#: References to memory that only the list has; versions of Python count themselves differently.
_UNUSED: Final = _references([np.empty(0, np.uint8)], 0) if _COUNTED else 0


class Recycled:
    """Hands out memory for arrays of one size, most of the time."""

    def __init__(self) -> None:
        self._kept: list[Area] = []

    def new(self, length: int) -> Area:
        """Returns memory that nothing else refers to.

        Args:
            length: Bytes.
        """
        if length < RECYCLED_FROM or not _COUNTED:
            return np.empty(length, np.uint8)
        kept = self._kept
        for index in range(len(kept)):
            if len(kept[index]) == length and _references(kept, index) == _UNUSED:
                return kept[index]
        made: Area = np.empty(length, np.uint8)
        self._kept = [*kept[1 - _MOST_KEPT :], made]
        return made
