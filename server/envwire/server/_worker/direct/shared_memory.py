"""Memory shared with a client on the same machine: slots for large attachments, a mailbox, and memory of a device.

It has no name: the client gets the descriptor over a Unix socket, and the kernel frees the memory when the last process
that maps it is gone, however it ended. Attachments are written once and read in place; the client clears a slot's byte
once it no longer uses any of its contents.

Memory of a device, for arrays of torch, JAX and CuPy, belongs to the session, not to a channel: a client that opens
another channel finds what its last request and the kept reply refer to.
"""

from __future__ import annotations

import fcntl
import mmap
import os
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from envwire.device.device_memory import ALIGNMENT as DEVICE_ALIGNMENT
from envwire.device.device_memory import DeviceError
from envwire.device.devices import Identity, allocate
from envwire.device.shared_arrays import SharedArrays
from envwire.server._hosting.vector_hosts import is_vector
from envwire.v1 import direct_pb2
from envwire.wire.frames import ALIGNMENT, ATTACHED_FROM, Attachments
from envwire.wire.local_channel import BOX_BYTES, FRAME_AT, ORDERED, Mailbox

#: Smaller frames are faster on the socket, in bytes.
SHARED_FROM = 65536
_SEALS = fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL
_MAX_SLOTS = 8
_FEWEST_SLOTS = 2
#: Largest box: in the observations of a session are less than half of it.
_MOST_BOX_BYTES = 2**17
#: What a step has beside observation and action: reward and flags of each member, and a kilobyte for all else.
_OUTCOME_BYTES, _REST_BYTES = 16, 1024


def _allocate(descriptor: int, start: int, length: int) -> None:
    """Allocates pages of memory: writing to one when no memory is left would kill the process.

    Raises:
        OSError: There is not enough memory.
    """
    os.posix_fallocate(descriptor, start, length)


def _sealed_memory(name: str, size: int, allocated: int | None = None) -> tuple[int, mmap.mmap]:
    """Returns the descriptor of memory that can be shared, and the memory.

    Args:
        name: Its name in listings of a process's memory.
        size: Bytes.
        allocated: How many bytes to allocate now; by default all.

    Raises:
        OSError: There is not enough memory.
    """
    descriptor = os.memfd_create(name, os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    try:
        os.ftruncate(descriptor, size)
        _allocate(descriptor, 0, size if allocated is None else allocated)
        # Sealed, so that a client cannot shrink it.
        fcntl.fcntl(descriptor, fcntl.F_ADD_SEALS, _SEALS)
        return descriptor, mmap.mmap(descriptor, size)
    except BaseException:
        os.close(descriptor)
        raise


class SharedSlots:
    """Slots of equal size in one memory file. A slot is allocated when it is needed first.

    Args:
        slots: Number of slots.
        slot_bytes: Size of each slot in bytes, a multiple of the page size.

    Raises:
        OSError: There is not enough memory.
    """

    def __init__(self, slots: int, slot_bytes: int) -> None:
        page = mmap.PAGESIZE
        self.layout = direct_pb2.SharedMemory(slots=slots, slot_bytes=slot_bytes, first_slot=page)
        size = page + slots * slot_bytes
        self.descriptor, self._memory = _sealed_memory("envwire-frames", size, page)
        self._view = memoryview(self._memory)
        #: How many slots are allocated; the first that is free is always taken.
        self._allocated = 0

    def put(self, attachments: Attachments) -> int:
        """Writes a frame's attachments into a free slot and returns its number, from 1; 0 if none is free."""
        layout = self.layout
        if not SHARED_FROM <= attachments.length <= layout.slot_bytes:
            return 0
        slot = self._memory.find(b"\0", 0, layout.slots)
        if slot < 0:
            return 0
        start = layout.first_slot + slot * layout.slot_bytes
        if slot >= self._allocated and not self._allocate_to(slot):
            return 0
        for buffer in attachments.buffers:
            copy_large(self._view[start : start + len(buffer)], buffer)
            start += len(buffer)
        self._view[slot] = 1
        return slot + 1

    def _allocate_to(self, slot: int) -> bool:
        """Allocates all slots up to one; returns whether there was enough memory."""
        layout, done = self.layout, self._allocated
        start = layout.first_slot + done * layout.slot_bytes
        try:
            _allocate(self.descriptor, start, (slot + 1 - done) * layout.slot_bytes)
        except OSError:
            return False
        self._allocated = slot + 1
        return True

    def close(self) -> None:
        """Unmaps the memory in this process."""
        self._view.release()
        self._memory.close()
        os.close(self.descriptor)


def share(budget: int, space: Any) -> SharedSlots | None:
    """Allocates slots for a space's observations; None if these are too small or too large, or memory is short.

    Args:
        budget: Largest total size in bytes.
        space: The observation space.
    """
    needed, page = bytes_of(space), mmap.PAGESIZE
    slot_bytes = -(-needed // page) * page
    slots = min(_MAX_SLOTS, (budget - page) // slot_bytes) if needed >= SHARED_FROM else 0
    if slots < _FEWEST_SLOTS:
        return None
    try:
        return SharedSlots(slots, slot_bytes)
    except OSError:  # the client then gets its frames on the socket
        return None


def bytes_of(space: Any) -> int:
    """Returns the bytes of an observation's arrays, as far as its space determines them."""
    parts = getattr(space, "spaces", None)
    if parts is not None:
        members: Iterable[Any] = parts.values() if hasattr(parts, "values") else parts
        return sum(bytes_of(member) for member in members)
    shape, dtype = getattr(space, "shape", None), getattr(space, "dtype", None)
    if shape is None or dtype is None:
        return 0
    size = int(dtype.itemsize)
    for axis in shape:
        size *= axis
    return -(-size // ALIGNMENT) * ALIGNMENT


def fits_boxes(observation_space: Any) -> bool:
    """Returns whether observations that could be attached fit into boxes, as far as their space tells.

    Those of 8 to 60 kB then arrive in 0.61 to 0.76 times the time that they take on the socket as attachments.
    """
    return ATTACHED_FROM <= bytes_of(observation_space) < SHARED_FROM


def box_bytes(env: Any) -> int:
    """Returns the size of boxes that hold a step of an environment, request and answer; at most 128 KiB."""
    space = env.observation_space
    outcome = _OUTCOME_BYTES * _members(env)
    answer = outcome + (bytes_of(space) if fits_boxes(space) else 0)
    needed = FRAME_AT + max(bytes_of(env.action_space), answer) + _REST_BYTES
    return min(-(-needed // BOX_BYTES) * BOX_BYTES, _MOST_BOX_BYTES)


def _members(env: Any) -> int:
    """Returns how many environments step at once; Gymnasium 0.29 warns who asks a wrapper for what it has not."""
    return env.num_envs if is_vector(env) else 1


class Boxes:
    """The two boxes of a channel, both of whose readers sleep.

    Args:
        size: Bytes of each.

    Attributes:
        descriptor: Descriptor of the memory, for the client.
        size: Bytes of each.

    Raises:
        OSError: There is not enough memory.
    """

    def __init__(self, size: int = BOX_BYTES) -> None:
        self.size = size
        self.descriptor, self._memory = _sealed_memory("envwire-mailbox", 2 * size)
        Mailbox.prepare(self._memory, size)

    def mailbox(self, wake: Callable[[bytes], object]) -> Mailbox:
        """Returns the server's end (see `Mailbox`)."""
        return Mailbox(self._memory, self.size, wake, server=True)

    def close_descriptor(self) -> None:
        """Closes the descriptor; the memory is there for as long as anyone maps it."""
        os.close(self.descriptor)


def new_boxes(size: int) -> Boxes | None:
    """Allocates boxes of some size; None if memory is short, or this machine can have no mailboxes."""
    try:
        return Boxes(size) if ORDERED else None
    except OSError:  # the client then gets all frames on the socket
        return None


#: Bytes for rewards, flags, masks and what else is in infos, besides those that are known from the spaces.
_BESIDES: Final = 1 << 16
#: Bytes of these for each member of a vector environment.
_PER_MEMBER: Final = 256


@dataclass(frozen=True)
class SharedDevice:
    """Shared memory of a device.

    Attributes:
        identity: The device.
        arrays: The session's end of the memory.
        answer_bytes: Bytes of the part for answers.
    """

    identity: Identity
    arrays: SharedArrays
    answer_bytes: int

    def describe(self, welcome: direct_pb2.Welcome) -> int:
        """Describes the memory in a welcome, and returns the descriptor to send with it."""
        memory = self.arrays.memory
        welcome.device_memory.bytes = memory.size
        welcome.device_memory.answer_bytes = self.answer_bytes
        return memory.descriptor


def share_device(budget: int, identity: Identity, env: Any) -> SharedDevice:
    """Allocates memory for the arrays of an environment's answers, and of its actions.

    What does not fit is sent in the message. An answer may hold observations twice: "final_obs" are in its info.

    Args:
        budget: Largest size, in bytes.
        identity: The device.
        env: The environment.

    Raises:
        DeviceError: It is another device than this process sees, or too little memory is left.
    """
    besides = _BESIDES + _PER_MEMBER * _members(env)
    request = bytes_of(env.action_space) + besides
    answer = min(2 * bytes_of(env.observation_space) + besides, budget - request)
    answer -= answer % DEVICE_ALIGNMENT
    if answer <= 0:
        raise DeviceError(f"--device-memory {budget} is less than the environment needs")
    memory = allocate(identity, answer + request)
    arrays = SharedArrays(memory, range(answer), range(answer, memory.size))
    return SharedDevice(identity, arrays, answer)


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
