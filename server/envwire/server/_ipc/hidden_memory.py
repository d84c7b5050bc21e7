"""Hides the front's memory, which holds keys and secrets, from other processes of the same user."""

from __future__ import annotations

import ctypes

_PR_SET_DUMPABLE = 4


def hide_memory() -> None:
    """Closes this process's memory, descriptors and environment to other processes of its user; it dumps no core."""
    ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)
