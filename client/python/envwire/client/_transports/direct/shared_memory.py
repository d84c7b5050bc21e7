"""Shared memory of a direct channel: arrays are read where the server wrote them, and released when collected."""

from __future__ import annotations

import ctypes
import mmap
import os
import weakref

import numpy as np

from envwire.v1 import direct_pb2
from envwire.wire.frames import Area


class SharedFrames:
    """The slots of one session.

    Args:
        descriptor: The memory; it stays the caller's.
        layout: How it is divided.

    Raises:
        OSError: The memory is not what the layout says.
    """

    def __init__(self, descriptor: int, layout: direct_pb2.SharedMemory) -> None:
        self._layout = layout
        self._pid = os.getpid()
        size = layout.first_slot + layout.slots * layout.slot_bytes
        try:
            self._memory = mmap.mmap(descriptor, size)
        except ValueError as error:
            raise OSError(f"shared memory of the wrong size: {error}") from error

    def area(self, where: int, length: int) -> Area:
        """Returns the attachments in a slot. Its arrays keep it; when the last of them is gone, the slot is free.

        Args:
            where: Number of the slot, from 1.
            length: Bytes of the attachments.

        Raises:
            OSError: There is no such slot, or it is smaller.
        """
        layout = self._layout
        if where > layout.slots or length > layout.slot_bytes:
            raise OSError(f"a frame of {length} bytes in slot {where} of {layout.slots}")
        start = layout.first_slot + (where - 1) * layout.slot_bytes
        # An object of its own for each frame, whose end is the end of all arrays over it.
        owner = (ctypes.c_ubyte * length).from_buffer(self._memory, start)
        weakref.finalize(owner, self._free, where - 1).atexit = False
        return np.frombuffer(memoryview(owner), np.uint8)

    def _free(self, slot: int) -> None:
        if os.getpid() == self._pid:  # a fork inherits the arrays, not the right to give them back
            self._memory[slot] = 0
