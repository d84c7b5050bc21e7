"""Landlock: a process gives up rights to files, and to other processes, for itself and all its descendants.

It applies to root as well. Its rules can only allow: rights that a ruleset handles are denied everywhere but beneath
the paths of its rules.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import stat
import struct
from collections.abc import Iterable, Iterator
from pathlib import Path

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_ASK_VERSION = 1
_PATH_BENEATH = 1
_SCOPE_SIGNAL = 1 << 1
#: First version that can confine signals.
_WITH_SCOPES = 6

READ = 1 << 2
_WRITE_FILE, _TRUNCATE = 1 << 1, 1 << 14
_REMOVE_DIRECTORY, _REMOVE_FILE = 1 << 4, 1 << 5
_MAKE_CHARACTER_DEVICE, _MAKE_BLOCK_DEVICE = 1 << 6, 1 << 11
_MAKE_DIRECTORY, _MAKE_FILE, _MAKE_SOCKET, _MAKE_FIFO = 1 << 7, 1 << 8, 1 << 9, 1 << 10
_MAKE_LINK, _MOVE = 1 << 12, 1 << 13
#: The right to change files and directories. No environment creates devices.
WRITE = (
    _WRITE_FILE
    | _TRUNCATE
    | _REMOVE_DIRECTORY
    | _REMOVE_FILE
    | _MAKE_DIRECTORY
    | _MAKE_FILE
    | _MAKE_SOCKET
    | _MAKE_FIFO
    | _MAKE_LINK
    | _MOVE
)
OVERWRITE = _WRITE_FILE | _TRUNCATE
"""The right to write to files that there are."""
_DEVICES = _MAKE_CHARACTER_DEVICE | _MAKE_BLOCK_DEVICE
#: Rights that a rule for a file, rather than a directory, may have.
_OF_FILES = READ | _WRITE_FILE | _TRUNCATE
#: Rights by the version that introduced them. Version 1 lets no file be moved to another directory.
_SINCE = {_MOVE: 2, _TRUNCATE: 3}

_libc = ctypes.CDLL(None, use_errno=True)


def landlock_version() -> int:
    """Returns the kernel's version of Landlock; 0 for none."""
    return max(0, int(_libc.syscall(_CREATE_RULESET, None, 0, _ASK_VERSION)))


def make_ruleset(allowed: dict[Path, int]) -> int | None:
    """Makes a ruleset that denies reading, writing, and signals to other processes, where the kernel can.

    Args:
        allowed: Rights, `READ` and `WRITE`, by the path beneath which they hold. Links are not followed.

    Returns:
        Its descriptor; None if the kernel has no Landlock.
    """
    version = landlock_version()
    handled = READ | WRITE | _DEVICES
    for right, since in _SINCE.items():
        if version < since:
            handled &= ~right
    attributes = struct.pack("QQQ", handled, 0, _SCOPE_SIGNAL)
    length = len(attributes) if version >= _WITH_SCOPES else 8
    ruleset = int(_libc.syscall(_CREATE_RULESET, attributes, length, 0))
    if ruleset < 0:
        return None
    for path, rights in allowed.items():
        _allow(ruleset, rights & handled, path)
    return ruleset


def _allow(ruleset: int, rights: int, path: Path) -> None:
    try:
        descriptor = os.open(path, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:  # it is gone
        return
    try:
        if not stat.S_ISDIR(os.fstat(descriptor).st_mode):
            rights &= _OF_FILES
        rule = struct.pack("=Qi", rights, descriptor)
        _libc.syscall(_ADD_RULE, ruleset, _PATH_BENEATH, rule, 0)
    finally:
        os.close(descriptor)


def restrict_self(ruleset: int) -> None:
    """Restricts this process and all its descendants by a ruleset, for good."""
    _libc.syscall(_RESTRICT_SELF, ruleset, 0)


def beside(closed: Iterable[Path]) -> Iterator[Path]:
    """Yields the siblings of some paths and of all directories above them: together they are everything else."""
    ends = set(closed)
    way = above(ends)
    for directory in way:
        # A directory that cannot be listed: nothing beneath it is allowed.
        with contextlib.suppress(OSError):
            yield from {directory / entry for entry in os.listdir(directory)} - ends - way


def above(closed: Iterable[Path]) -> set[Path]:
    """Returns the directories on the paths to some closed ones; what is beneath one of these is closed with it."""
    ends = set(closed)
    outermost = [end for end in ends if ends.isdisjoint(end.parents)]
    return {parent for end in outermost for parent in end.parents}
