"""Keeps a session process from setting limits and scheduling of other processes, by a seccomp filter.

The kernel lets any process of the same user lower the limits of another, which kills it, or have it scheduled last;
Landlock does not cover that. A filter sees the arguments of a call as numbers. This one allows what a process sets for
itself as pid 0, and refuses the rest with EPERM. It cannot tell the caller's own pid and threads from other processes,
so these are refused too. Programs are prepared for that, as the kernel refuses many such requests without privileges.

The exception is `sched_setaffinity`: where it fails, glibc and with it OpenMP cannot start threads that are pinned.
With a number of a thread or process the call succeeds without effect.

The filter is written out here: pyseccomp, the one Python library for it, has had no release since 2021 and needs a C
library besides. It names no process, so it is the same for all.
"""

from __future__ import annotations

import ctypes
import errno
import platform
import struct
from collections.abc import Iterator
from typing import NamedTuple

# Codes of classic BPF: load a word of `struct seccomp_data`, compare it, return.
_LOAD, _EQUAL, _AT_LEAST, _RETURN = 0x20, 0x15, 0x35, 0x06
_NUMBER, _ARCHITECTURE, _ARGUMENTS = 0, 4, 16
_ALLOW, _ERROR = 0x7FFF0000, 0x00050000
_SET_FILTER, _IS_AVAILABLE = 1, 2
#: Without this flag, kernels before 5.16 slow the process down by mitigations of speculative execution.
_SPECULATION_ALLOWED = 1 << 2
#: From this number on, calls on x86-64 are those of x32, a second set of the same calls.
_X32 = 0x40000000

_libc = ctypes.CDLL(None, use_errno=True)

#: Values of arguments, by position in words of 32 bits, lower word first: argument 1 begins at word 2.
_Words = dict[int, int]


class _Call(NamedTuple):
    """A system call that can set something for other processes.

    Attributes:
        numbers: Its number on x86-64, for 32-bit programs there, and on AArch64.
        allowed: With any of these arguments it does not.
        answer: The error for other arguments; 0 pretends success.
    """

    numbers: tuple[int, int, int]
    allowed: tuple[_Words, ...]
    answer: int = errno.EPERM


_CALLER: _Words = {0: 0}
_CALLS = {
    "sched_setaffinity": _Call((203, 241, 122), (_CALLER,), answer=0),
    "sched_setscheduler": _Call((144, 156, 119), (_CALLER,)),
    "sched_setparam": _Call((142, 154, 118), (_CALLER,)),
    "sched_setattr": _Call((314, 351, 274), (_CALLER,)),
    "setpriority": _Call((141, 97, 140), ({0: 0, 2: 0},)),  # PRIO_PROCESS
    "ioprio_set": _Call((251, 289, 30), ({0: 1, 2: 0},)),  # IOPRIO_WHO_PROCESS
    # The third argument is the new limit; without it the call only reads.
    "prlimit64": _Call((302, 340, 261), (_CALLER, {4: 0, 5: 0})),
}
#: The architectures that a program can use on a machine, and which of `numbers` they have.
_ARCHITECTURES = {"x86_64": {0xC000003E: 0, 0x40000003: 1}, "aarch64": {0xC00000B7: 2}}
#: Number of seccomp(2).
_SECCOMP = {"x86_64": 317, "aarch64": 277}


def filters_calls() -> bool:
    """Returns whether the kernel can filter system calls of this architecture."""
    number = _SECCOMP.get(platform.machine())
    answer = ctypes.byref(ctypes.c_uint32(_ERROR))
    return number is not None and _libc.syscall(number, _IS_AVAILABLE, 0, answer) == 0


def spare_other_processes() -> None:
    """Denies this process and its descendants to change limits and scheduling of others, if the kernel can."""
    if number := _SECCOMP.get(platform.machine()):
        count = len(_FILTER) // _INSTRUCTION.size
        program = struct.pack("@HP", count, ctypes.addressof(_FILTER))
        _libc.syscall(number, _SET_FILTER, _SPECULATION_ALLOWED, program)


_INSTRUCTION = struct.Struct("=HBBI")


def _instruction(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    """Returns an instruction; a comparison skips as many others as `if_true` or `if_false` says."""
    return _INSTRUCTION.pack(code, if_true, if_false, value)


def _returned(action: int) -> bytes:
    return _instruction(_RETURN, action)


def _filter(machine: str) -> bytes:
    """Returns the program for a machine; its programs of unknown architectures can do nothing."""
    blocks = (
        _when(_EQUAL, architecture, b"".join(_calls(column)))
        for architecture, column in _ARCHITECTURES.get(machine, {}).items()
    )
    unknown = _returned(_ERROR | errno.ENOSYS)
    return _instruction(_LOAD, _ARCHITECTURE) + b"".join(blocks) + unknown


def _when(comparison: int, value: int, then: bytes) -> bytes:
    return _instruction(comparison, value, 0, len(then) // _INSTRUCTION.size) + then


def _calls(column: int) -> Iterator[bytes]:
    """Yields the instructions for one architecture."""
    yield _instruction(_LOAD, _NUMBER)
    if column == 0:
        yield _when(_AT_LEAST, _X32, _returned(_ERROR | errno.ENOSYS))
    for call in _CALLS.values():
        yield _when(_EQUAL, call.numbers[column], b"".join(_checks(call)))
    yield _returned(_ALLOW)


def _checks(call: _Call) -> Iterator[bytes]:
    for words in call.allowed:
        then = _returned(_ALLOW)
        for position, value in reversed(words.items()):
            load = _instruction(_LOAD, _ARGUMENTS + 4 * position)
            then = load + _when(_EQUAL, value, then)
        yield then
    yield _returned(_ERROR | call.answer)


_PROGRAM = _filter(platform.machine())
_FILTER = (ctypes.c_ubyte * len(_PROGRAM)).from_buffer_copy(_PROGRAM)
