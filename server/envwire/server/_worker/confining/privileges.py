"""Takes the privileges of root from a session process with which it could circumvent its confinement.

A server that does not run as root has none of them. The others stay, such as those by which root reads files of other
users, opens low ports, or configures networks.
"""

from __future__ import annotations

import ctypes
import struct

#: Numbers of capabilities, see capabilities(7), and what a session could do with them.
_TAKEN = {
    "CAP_DAC_READ_SEARCH": 2,  # open files by handle, without a path
    "CAP_LINUX_IMMUTABLE": 9,  # make files immutable, such as the token file
    "CAP_SYS_MODULE": 16,
    "CAP_SYS_RAWIO": 17,  # read the memory of the machine
    "CAP_SYS_PTRACE": 19,
    "CAP_SYS_PACCT": 20,
    "CAP_SYS_ADMIN": 21,  # mount, trace the kernel, write to terminals in the name of their user
    "CAP_SYS_BOOT": 22,
    "CAP_SYS_RESOURCE": 24,  # raise its own limits again
    "CAP_SYS_TIME": 25,
    "CAP_MKNOD": 27,  # make a device node for the disk
    "CAP_SYSLOG": 34,
    "CAP_PERFMON": 38,  # sample the memory of other processes
    "CAP_BPF": 39,
    "CAP_CHECKPOINT_RESTORE": 40,
}
_VERSION_3 = 0x20080522
#: A header and two times three sets, effective, permitted and inheritable: of capabilities below 32, and the others.
_HEADER, _SETS = struct.Struct("=Ii"), struct.Struct("=6I")

_libc = ctypes.CDLL(None, use_errno=True)


def give_up_privileges() -> None:
    """Takes them from this process and all its descendants, for good if they cannot gain privileges."""
    header, sets = _HEADER.pack(_VERSION_3, 0), ctypes.create_string_buffer(_SETS.size)
    if _libc.capget(header, sets) != 0:
        return
    taken = sum(1 << number for number in _TAKEN.values())
    kept = [
        held & ~(taken >> 32 * half & 0xFFFFFFFF)
        for half, held in zip((0, 0, 0, 1, 1, 1), _SETS.unpack(sets.raw), strict=True)
    ]
    _libc.capset(header, _SETS.pack(*kept))
