"""Confines a session process with Landlock, so that it cannot reach the server's secrets and other processes.

If the kernel has Landlock, it also applies to root and to all processes that the environment starts. Its rules can only
allow access. A process is therefore allowed to read everything except the path to a secret: each directory on that path
is listed and its other entries are allowed, so entries that are created later cannot be read. That would break
environments in directories where they work, such as the temporary directory; secrets there are not protected. Write
access to control groups is denied in the same way, since a process could otherwise leave its own.
"""

from __future__ import annotations

import ctypes
import os
import struct
from collections.abc import Iterator
from pathlib import Path

from envwire.server._auth.secret_files import exposed, secrets_of
from envwire.server._worker.confining.control_groups import all_groups
from envwire.server.config import ServerConfig

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_ASK_VERSION = 1
_PATH_BENEATH = 1
_WRITE_FILE, _READ_FILE, _MAKE_CHAR, _REFER = 1 << 1, 1 << 2, 1 << 6, 1 << 13
_SCOPE_SIGNAL = 1 << 1
#: First versions of Landlock that can allow moving files between directories, and that can confine signals.
_WITH_REFER, _WITH_SCOPES = 2, 6
_PR_SET_NO_NEW_PRIVS = 38

_libc = ctypes.CDLL(None, use_errno=True)


def landlock_version() -> int:
    """Returns the kernel's version of Landlock; 0 for none."""
    return max(0, int(_libc.syscall(_CREATE_RULESET, None, 0, _ASK_VERSION)))


def confine(config: ServerConfig, group: Path | None) -> None:
    """Denies this process and all its descendants access to the server's secrets and to other processes, for good.

    If the kernel refuses, the process continues unconfined: docs/security.md lists what holds where.

    Args:
        config: The server's settings.
        group: The process's control group, which it then cannot leave; None for none.
    """
    _libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    version = landlock_version()
    if not version:
        return
    rules = list(_rules(config, group, version))
    # A Landlock domain already prevents tracing other processes. A domain must handle at least one kind of access;
    # no environment creates devices.
    handled = sum({access for access, _ in rules}) or _MAKE_CHAR
    attributes = struct.pack("QQQ", handled, 0, _SCOPE_SIGNAL)
    length = len(attributes) if version >= _WITH_SCOPES else 8
    ruleset = _libc.syscall(_CREATE_RULESET, attributes, length, 0)
    if ruleset < 0:
        return
    for access, path in rules:
        _allow(ruleset, access, path)
    _libc.syscall(_RESTRICT_SELF, ruleset, 0)
    os.close(ruleset)


def _rules(config: ServerConfig, group: Path | None, version: int) -> Iterator[tuple[int, Path]]:
    """Yields pairs of allowed access rights and the path beneath which they apply."""
    secrets = secrets_of(config)
    hidden = [secret for secret in secrets if secret not in exposed(secrets)]
    if hidden:
        yield from ((_READ_FILE, path) for path in _beside(hidden))
    if group is not None:
        yield from ((_WRITE_FILE, path) for path in _beside([all_groups(group)]))
    if version >= _WITH_REFER:  # else no file can be moved between directories
        yield _REFER, Path("/")


def _beside(secrets: list[Path]) -> Iterator[Path]:
    """Yields the siblings of all directories on the paths from the root to the secrets."""
    way = {part for secret in secrets for part in (secret, *secret.parents)}
    for directory in sorted(way - set(secrets)):
        try:
            entries = list(directory.iterdir())
        except OSError:  # a directory that cannot be listed: nothing beneath it is allowed
            continue
        yield from (entry for entry in entries if entry not in way)


def _allow(ruleset: int, access: int, path: Path) -> None:
    try:
        # The target of a link has its own rule, unless it is a secret.
        descriptor = os.open(path, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return
    _libc.syscall(_ADD_RULE, ruleset, _PATH_BENEATH, struct.pack("=Qi", access, descriptor), 0)
    os.close(descriptor)
