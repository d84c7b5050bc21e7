"""A program that tries to use a file by `io_uring`, past filters of system calls; prints what it can do with it."""

from __future__ import annotations

import ctypes
import mmap
import os
import struct
import sys
from collections.abc import Callable

_SETUP, _ENTER, _GET_EVENTS = 425, 426, 1
_PARAMETERS, _SUBMISSIONS, _COMPLETIONS = 120, 40, 80
_COMPLETION_RING, _ENTRIES = 0x8000000, 0x10000000
_HERE = -100
_OPENAT, _RENAMEAT, _UNLINKAT, _MKDIRAT = 18, 35, 36, 37

_libc = ctypes.CDLL(None, use_errno=True)


class Ring:
    """A ring of one operation at a time.

    Raises:
        OSError: The kernel has none, or refuses.
    """

    def __init__(self) -> None:
        parameters = ctypes.create_string_buffer(_PARAMETERS)
        self._ring = int(_libc.syscall(_SETUP, 1, parameters))
        if self._ring < 0:
            raise OSError(ctypes.get_errno(), "no io_uring")
        self._submissions = struct.unpack_from("7I", parameters, _SUBMISSIONS)
        self._completions = struct.unpack_from("6I", parameters, _COMPLETIONS)
        self._asked = self._map(self._submissions[6] + 4, 0)
        self._answered = self._map(self._completions[5] + 2 * 16, _COMPLETION_RING)
        self._entry = self._map(64, _ENTRIES)
        self._count = 0

    def _map(self, length: int, offset: int) -> mmap.mmap:
        return mmap.mmap(self._ring, length, offset=offset)

    def does(self, operation: int, name: bytes, flags: int = 0, second: bytes = b"") -> bool:
        """Returns whether an operation on a file succeeds."""
        names = ctypes.create_string_buffer(name), ctypes.create_string_buffer(second)
        first, other = map(ctypes.addressof, names)
        length = _HERE & 0xFFFFFFFF if second else 0o700
        self._entry[:] = struct.pack(
            "<BBHiQQII32x", operation, 0, 0, _HERE, other if second else 0, first, length, flags
        )
        struct.pack_into("I", self._asked, self._submissions[6], 0)
        self._count += 1
        struct.pack_into("I", self._asked, self._submissions[1], self._count)
        if _libc.syscall(_ENTER, self._ring, 1, 1, _GET_EVENTS, None, 0) != 1:
            raise OSError(ctypes.get_errno(), "no operation")
        at = self._completions[5] + 16 * ((self._count - 1) % 2)
        result = int(struct.unpack_from("<QiI", self._answered, at)[1])
        struct.pack_into("I", self._answered, self._completions[0], self._count)
        return result >= 0


#: What is tried with a file, by what it is called.
_TRIED: dict[str, Callable[[Ring, bytes], bool]] = {
    "read": lambda ring, file: ring.does(_OPENAT, file, os.O_RDONLY),
    "append": lambda ring, file: ring.does(_OPENAT, file, os.O_WRONLY | os.O_APPEND),
    "create": lambda ring, file: ring.does(_OPENAT, file + b".new", os.O_WRONLY | os.O_CREAT),
    "make a directory": lambda ring, file: ring.does(_MKDIRAT, file + b".folder"),
    "rename": lambda ring, file: ring.does(_RENAMEAT, file, second=file + b".renamed"),
    "remove": lambda ring, file: ring.does(_UNLINKAT, file),
}


if __name__ == "__main__":
    try:
        own = Ring()
    except OSError as error:
        sys.exit(f"{error}")
    print(*(name for name, tried in _TRIED.items() if tried(own, sys.argv[1].encode())), sep=", ")
