"""The files of recordings: names and append-only writing."""

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
_MAX_ID = 64
#: Pieces per call of `writev`, which accepts at most 1,024.
_PIECES = 512


class FullError(Exception):
    """The recording has reached its size limit."""


def new_name(env_id: str) -> str:
    """Returns a globally unique name for a recording: time, environment and a random part.

    Whatever characters the id has, the name is valid for a file in the directory, and not hidden.
    """
    stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
    return f"{stamp}-{_STRANGE.sub('_', env_id)[:_MAX_ID]}-{secrets.token_hex(4)}"


def path_of(directory: str | os.PathLike[str], name: str) -> Path:
    """Returns the file of a recording."""
    return Path(directory) / file_name(name)


def file_name(name: str) -> str:
    """Returns the name of a recording's file."""
    return f"{name}{SUFFIX}"


def create_file(folder: int, name: str) -> int:
    """Creates a file for appending, readable only by its owner, and returns its descriptor.

    It is locked while its writer lives, which tells others that it is unfinished.

    Args:
        folder: Descriptor of its folder.
        name: Its name there.

    Raises:
        OSError: The file cannot be created.
    """
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
    descriptor = os.open(name, flags, 0o600, dir_fd=folder)
    with contextlib.suppress(OSError):  # not every file system has locks
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    return descriptor


class AppendedFile:
    """An append-only file of whole entries.

    Args:
        name: The recording's name.
        descriptor: Descriptor of the file, which is empty. This object owns it.
        limit: Largest size in bytes; 0 for no limit.

    Attributes:
        name: The recording's name.
    """

    def __init__(self, name: str, descriptor: int, limit: int) -> None:
        self.name = name
        self._descriptor = descriptor
        self._limit = limit
        self._size = 0

    def append(self, pieces: Sequence[bytes | memoryview], last: bool = False) -> None:
        """Appends an entry.

        Args:
            pieces: The entry, in pieces.
            last: Whether it may exceed the limit.

        Raises:
            FullError: The file would exceed its limit.
            OSError: The entry cannot be written, as on a full disk; a partly written entry is removed.
        """
        length = sum(map(len, pieces))
        if self._limit and not last and self._size + length > self._limit:
            raise FullError
        if len(pieces) > _PIECES:
            pieces = [b"".join(pieces)]
        try:
            self._write(pieces, length)
        except OSError:
            with contextlib.suppress(OSError):  # readers ignore a partly written entry at the end
                os.ftruncate(self._descriptor, self._size)
            raise
        self._size += length

    def _write(self, pieces: Sequence[bytes | memoryview], length: int) -> None:
        written = os.writev(self._descriptor, pieces)
        if written < length:  # a nearly full disk, or more than 2 GiB at once
            rest = memoryview(b"".join(pieces))[written:]
            while rest:
                rest = rest[os.write(self._descriptor, rest) :]

    def close(self) -> None:
        """Closes the file, which releases its lock. Closing it twice is harmless."""
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0:
            os.close(descriptor)
