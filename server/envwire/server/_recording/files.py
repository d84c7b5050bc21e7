"""The files of recordings: their names, and how they are appended to."""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import secrets
import time
from collections.abc import Sequence
from pathlib import Path

SUFFIX = ".envrec"
_STRANGE = re.compile(r"[^A-Za-z0-9._-]+")
_LONGEST = 64
#: `writev` takes 1,024 pieces at most.
_PIECES = 512


class FullError(Exception):
    """The recording has the size that one may have."""


def new_name(env_id: str) -> str:
    """Returns a name for a recording that no other has, on this machine or elsewhere: time, environment, random part.

    Whatever the id holds, the name is that of a file in the directory, and not hidden.
    """
    stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
    return f"{stamp}-{_STRANGE.sub('_', env_id)[:_LONGEST]}-{secrets.token_hex(4)}"


def path_of(directory: str | os.PathLike[str], name: str) -> Path:
    """Returns the file of a recording."""
    return Path(directory) / f"{name}{SUFFIX}"


class AppendedFile:
    """A new file that only grows, by whole entries, readable by its owner alone.

    It is locked for as long as its writer lives, by which others know that it is not finished.

    Args:
        path: Its name.
        limit: Bytes that it may hold; 0 for no limit.

    Raises:
        OSError: It cannot be made.
    """

    def __init__(self, path: Path, limit: int) -> None:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
        self._descriptor = os.open(path, flags, 0o600)
        with contextlib.suppress(OSError):  # not every file system has locks
            fcntl.flock(self._descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        self._limit = limit
        self._size = 0

    def append(self, pieces: Sequence[bytes | memoryview], last: bool = False) -> None:
        """Appends an entry.

        Args:
            pieces: The entry.
            last: Whether it may go beyond the limit.

        Raises:
            FullError: It would grow beyond its limit.
            OSError: It cannot be written, for want of space for instance; what was written of the entry is taken back.
        """
        length = sum(map(len, pieces))
        if self._limit and not last and self._size + length > self._limit:
            raise FullError
        if len(pieces) > _PIECES:
            pieces = [b"".join(pieces)]
        try:
            self._write(pieces, length)
        except OSError:
            os.ftruncate(self._descriptor, self._size)
            raise
        self._size += length

    def _write(self, pieces: Sequence[bytes | memoryview], length: int) -> None:
        written = os.writev(self._descriptor, pieces)
        if written < length:  # a nearly full disk, or 2 GiB at once
            rest = memoryview(b"".join(pieces))[written:]
            while rest:
                rest = rest[os.write(self._descriptor, rest) :]

    def close(self) -> None:
        """Closes it."""
        os.close(self._descriptor)
