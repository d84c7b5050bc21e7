"""Protects the front's memory, which holds keys and secrets, from other processes of the same user."""

from __future__ import annotations

import ctypes

_PR_SET_DUMPABLE = 4


def hide_memory() -> None:
    """Hides this process's memory and descriptors from the user's other processes, and disables core dumps."""
    ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)
