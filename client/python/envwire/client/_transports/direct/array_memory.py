"""Memory of the arrays that a direct channel receives: shared and read in place, or used again once it is free.

Garbage-collecting the arrays over shared memory frees their slot. Before a fork, slots with arrays become private
memory, since parent and child would see what the other writes. When its arrays are gone, such a slot is mapped anew,
and freed. Without shared memory, large arrays are read into memory that no array refers to any more: fresh pages cost
as much as filling them.
"""

from __future__ import annotations

import contextlib
import ctypes
import mmap
import os
import sys
import weakref
from collections.abc import Callable
from functools import cache
from typing import Any, Final

import numpy as np

from envwire.client._transports.portability import before_fork
from envwire.v1 import direct_pb2
from envwire.wire.frames import Area
from envwire.wire.local_channel import LEAST_BOX_BYTES, Mailbox

#: Linux's flags: those that Python's `mmap` lacks, or lacks on other systems.
_FIXED: Final = 0x10
_MAYMOVE_AND_FIXED: Final = 1 | 2
_READ_AND_WRITE: Final = 1 | 2


def make_private(address: int, length: int) -> None:
    """Replaces pages by private ones with the same bytes.

    Args:
        address: Where they begin, at a multiple of the page size.
        length: Bytes, a multiple as well.

    Raises:
        OSError: There is not enough memory.
    """
    libc = _libc()
    copied = _mapped(0, length, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, -1, 0)
    ctypes.memmove(copied, address, length)
    _checked(libc.mremap(copied, length, length, _MAYMOVE_AND_FIXED, address))


def make_shared(address: int, length: int, descriptor: int, offset: int) -> None:
    """Maps pages of shared memory where private ones are.

    Args:
        address: As for `make_private`.
        length: As for `make_private`.
        descriptor: The shared memory.
        offset: Where they begin there.

    Raises:
        OSError: They cannot be mapped.
    """
    _mapped(address, length, mmap.MAP_SHARED | _FIXED, descriptor, offset)


def _mapped(address: int, length: int, flags: int, descriptor: int, offset: int) -> int:
    return _checked(_libc().mmap(address, length, _READ_AND_WRITE, flags, descriptor, offset))


def _checked(address: int | None) -> int:
    if address is None or address == ctypes.c_void_p(-1).value:
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error))
    return address


@cache
def _libc() -> Any:
    libc = ctypes.CDLL(None, use_errno=True)
    pointer, size, number = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int
    libc.mmap.argtypes = pointer, size, number, number, number, ctypes.c_long
    libc.mremap.argtypes = pointer, size, size, number, pointer
    libc.mmap.restype = libc.mremap.restype = pointer
    return libc


#: With so few slots, one holds the arrays of the last step, and one those of the next.
_FEWEST = 2


class SharedFrames:
    """The slots of one session.

    Args:
        descriptor: File descriptor of the memory, which the caller closes.
        layout: How the memory is divided into slots.

    Raises:
        OSError: The memory is smaller than the layout says, or may shrink.
    """

    def __init__(self, descriptor: int, layout: direct_pb2.SharedMemory) -> None:
        if layout.first_slot % mmap.PAGESIZE or layout.slot_bytes % mmap.PAGESIZE:
            raise OSError("slots of shared memory that are not pages")
        if layout.slots > layout.first_slot:
            raise OSError("slots of shared memory that begin before its marks of them end")
        self._layout = layout
        self._pid = os.getpid()
        size = layout.first_slot + layout.slots * layout.slot_bytes
        self._memory = _map_sealed(descriptor, size)
        self._address = ctypes.addressof(ctypes.c_ubyte.from_buffer(self._memory))
        self._descriptor = os.dup(descriptor)
        weakref.finalize(self, os.close, self._descriptor).atexit = False
        #: What the arrays in use refer to, by slot; and the slots that are private.
        self._owners: dict[int, weakref.ref[Any]] = {}
        self._private: set[int] = set()
        _shared.add(self)

    def area(self, slot: int, length: int) -> Area:
        """Returns the attachments in a slot. The slot is freed when the last array over it is collected.

        If it is the last that was free, they are copied, and the slot is freed at once: that takes a third of the time
        that large frames take on the socket.

        Args:
            slot: Number of the slot, from 1.
            length: Bytes of the attachments.

        Raises:
            OSError: There is no such slot, or it is too small.
        """
        layout = self._layout
        if slot > layout.slots or length > layout.slot_bytes:
            raise OSError(f"a frame of {length} bytes in slot {slot} of {layout.slots}")
        start = self._start(slot - 1)
        if layout.slots > _FEWEST and self._memory.find(b"\0", 0, layout.slots) < 0:
            copied: Area = np.empty(length, np.uint8)
            copied[:] = np.frombuffer(self._memory, np.uint8, length, start)
            self._free(slot - 1)
            return copied
        # Each frame gets its own buffer object, which lives as long as any array over it.
        owner = (ctypes.c_ubyte * length).from_buffer(self._memory, start)
        self._owners[slot - 1] = weakref.ref(owner)
        weakref.finalize(owner, self._free, slot - 1).atexit = False
        return np.frombuffer(memoryview(owner), np.uint8)

    def _free(self, slot: int) -> None:
        # A forked child has copies of the arrays; the parent still reads the slot.
        if os.getpid() != self._pid:
            return
        self._owners.pop(slot, None)
        if slot in self._private:
            make_shared(*self._span(slot), self._descriptor, self._start(slot))
            self._private.discard(slot)
        self._memory[slot] = 0

    def _start(self, slot: int) -> int:
        return self._layout.first_slot + slot * self._layout.slot_bytes

    def _span(self, slot: int) -> tuple[int, int]:
        return self._address + self._start(slot), self._layout.slot_bytes

    def keep_private(self) -> None:
        """Makes the memory of all arrays private."""
        for slot, owner in list(self._owners.items()):
            held = owner()  # so that other threads do not free the slot meanwhile
            if held is not None and slot not in self._private:
                make_private(*self._span(slot))
                self._private.add(slot)
            del held


_shared: weakref.WeakSet[SharedFrames] = weakref.WeakSet()


def _before_fork() -> None:
    for frames in list(_shared):
        with contextlib.suppress(
            OSError
        ):  # there is no memory for copies, and soon not for the child either
            frames.keep_private()


before_fork(_before_fork)


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
