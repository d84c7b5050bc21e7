"""Copies large memory in two threads: one processor alone uses two thirds of what the machine's memory can take."""

from __future__ import annotations

import os
import threading
from pathlib import Path
from typing import Any

import numpy as np

#: A thread costs as much as copying half a megabyte.
_FROM_BYTES = 1 << 23


def copy_large(target: memoryview, source: Any) -> None:
    """Copies a buffer into one of the same length.

    No thread is left when it returns, not even one that the kernel is about to remove: a process with several cannot
    fork.
    """
    half = len(source) // 2
    if len(source) < _FROM_BYTES or len(os.sched_getaffinity(0)) < 2:
        target[:] = source
        return
    there, here = np.frombuffer(target, np.uint8), np.frombuffer(source, np.uint8)
    other = threading.Thread(target=np.copyto, args=(there[half:], here[half:]))
    try:
        other.start()
    except RuntimeError:  # the process may have no more threads
        target[:] = source
        return
    np.copyto(there[:half], here[:half])
    other.join()
    while Path("/proc/self/task", str(other.native_id)).exists():
        os.sched_yield()
