"""Memory shared with a client on the same machine: large attachments are written there once and read in place.

It has no name: the client gets its descriptor over a Unix socket, and the kernel frees it when the last process that
has it is gone, however it went. The client clears a slot's byte when nothing of it is in use any more.
"""

from __future__ import annotations

import fcntl
import mmap
import os
from collections.abc import Iterable
from typing import Any

from envwire.v1 import direct_pb2
from envwire.wire.frames import ALIGNMENT, Attachments

#: Smaller frames cost less on the socket.
SHARED_FROM = 65536
_SEALS = fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL
_MOST_SLOTS = 8
_FEWEST_SLOTS = 2


class SharedSlots:
    """Slots of one size in memory of their own.

    Args:
        slots: How many.
        slot_bytes: Bytes of each, whole pages.

    Raises:
        OSError: There is not so much memory.
    """

    def __init__(self, slots: int, slot_bytes: int) -> None:
        page = mmap.PAGESIZE
        self.layout = direct_pb2.SharedMemory(slots=slots, slot_bytes=slot_bytes, first_slot=page)
        self.descriptor = os.memfd_create("envwire-frames", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        try:
            size = page + slots * slot_bytes
            # Allocates the pages now: a write to a page for which no memory is left kills the process.
            os.posix_fallocate(self.descriptor, 0, size)
            # Sealed, so that a client cannot make it shorter.
            fcntl.fcntl(self.descriptor, fcntl.F_ADD_SEALS, _SEALS)
            self._memory = mmap.mmap(self.descriptor, size)
        except BaseException:
            os.close(self.descriptor)
            raise
        self._view = memoryview(self._memory)

    def put(self, attachments: Attachments) -> int:
        """Writes the attachments of a frame into a free slot and returns its number, from 1; 0 when none is free."""
        layout = self.layout
        if not SHARED_FROM <= attachments.length <= layout.slot_bytes:
            return 0
        slot = self._memory.find(b"\0", 0, layout.slots)
        if slot < 0:
            return 0
        start = layout.first_slot + slot * layout.slot_bytes
        for buffer in attachments.buffers:
            self._view[start : start + len(buffer)] = buffer
            start += len(buffer)
        self._view[slot] = 1
        return slot + 1

    def close(self) -> None:
        """Unmaps the memory at this end."""
        self._view.release()
        self._memory.close()
        os.close(self.descriptor)


def share(budget: int, space: Any) -> SharedSlots | None:
    """Returns memory for the observations of a space; None when they are small, too large, or there is none.

    Args:
        budget: Bytes that a session may share.
        space: The space of observations.
    """
    needed, page = _bytes_of(space), mmap.PAGESIZE
    slot_bytes = -(-needed // page) * page
    slots = min(_MOST_SLOTS, (budget - page) // slot_bytes) if needed >= SHARED_FROM else 0
    if slots < _FEWEST_SLOTS:
        return None
    try:
        return SharedSlots(slots, slot_bytes)
    except OSError:  # the client gets its frames on the socket
        return None


def _bytes_of(space: Any) -> int:
    """Returns how many bytes the arrays of an observation take, as far as its space tells."""
    parts = getattr(space, "spaces", None)
    if parts is not None:
        members: Iterable[Any] = parts.values() if hasattr(parts, "values") else parts
        return sum(_bytes_of(member) for member in members)
    shape, dtype = getattr(space, "shape", None), getattr(space, "dtype", None)
    if shape is None or dtype is None:
        return 0
    size = int(dtype.itemsize)
    for axis in shape:
        size *= axis
    return -(-size // ALIGNMENT) * ALIGNMENT
