"""The front's memory holds keys and the secrets of sessions: nobody else of the same user may read it."""

from __future__ import annotations

import ctypes

_PR_SET_DUMPABLE = 4


def hide_memory() -> None:
    """Closes this process's memory, descriptors and environment to other processes of its user; it dumps no core."""
    ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)
