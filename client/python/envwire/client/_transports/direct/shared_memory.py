"""Shared memory of a direct channel: arrays are read in place; garbage-collecting them frees their slot."""

from __future__ import annotations

import ctypes
import mmap
import os
import weakref
from collections.abc import Callable

import numpy as np

from envwire.v1 import direct_pb2
from envwire.wire.frames import Area
from envwire.wire.local_channel import LEAST_BOX_BYTES, Mailbox


class SharedFrames:
    """The slots of one session.

    Args:
        descriptor: File descriptor of the memory, which the caller closes.
        layout: How the memory is divided into slots.

    Raises:
        OSError: The memory is smaller than the layout says, or may shrink.
    """

    def __init__(self, descriptor: int, layout: direct_pb2.SharedMemory) -> None:
        self._layout = layout
        self._pid = os.getpid()
        size = layout.first_slot + layout.slots * layout.slot_bytes
        self._memory = _map_sealed(descriptor, size)

    def area(self, slot: int, length: int) -> Area:
        """Returns the attachments in a slot. The slot is freed when the last array over it is collected.

        Args:
            slot: Number of the slot, from 1.
            length: Bytes of the attachments.

        Raises:
            OSError: There is no such slot, or it is too small.
        """
        layout = self._layout
        if slot > layout.slots or length > layout.slot_bytes:
            raise OSError(f"a frame of {length} bytes in slot {slot} of {layout.slots}")
        start = layout.first_slot + (slot - 1) * layout.slot_bytes
        # Each frame gets its own buffer object, which lives as long as any array over it.
        owner = (ctypes.c_ubyte * length).from_buffer(self._memory, start)
        weakref.finalize(owner, self._free, slot - 1).atexit = False
        return np.frombuffer(memoryview(owner), np.uint8)

    def _free(self, slot: int) -> None:
        # A forked child has copies of the arrays; the parent still reads the slot.
        if os.getpid() == self._pid:
            self._memory[slot] = 0


def map_mailbox(
    descriptor: int, mailbox: direct_pb2.Mailbox, wake: Callable[[bytes], object]
) -> Mailbox:
    """Returns the client's end of a mailbox.

    Args:
        descriptor: File descriptor of the memory, which the caller closes.
        mailbox: How the memory is divided.
        wake: See `Mailbox`.

    Raises:
        OSError: The memory is smaller than the server says, or may shrink.
    """
    if mailbox.box_bytes < LEAST_BOX_BYTES:
        raise OSError(f"a mailbox with boxes of {mailbox.box_bytes} bytes")
    memory = _map_sealed(descriptor, 2 * mailbox.box_bytes)
    return Mailbox(memory, mailbox.box_bytes, wake, server=False)


def _map_sealed(descriptor: int, size: int) -> mmap.mmap:
    """Maps memory that cannot shrink: touching what is gone would kill this process.

    Raises:
        OSError: It may shrink, or is smaller, or is no memory.
    """
    import fcntl  # which Windows has not

    if not fcntl.fcntl(descriptor, fcntl.F_GET_SEALS) & fcntl.F_SEAL_SHRINK:
        raise OSError("shared memory that may shrink")
    try:
        return mmap.mmap(descriptor, size)
    except (ValueError, OverflowError) as error:
        raise OSError(f"shared memory of the wrong size: {error}") from error
