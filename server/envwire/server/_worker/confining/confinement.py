"""Confines a session process with Landlock: keeps the server's secrets and other processes out of its reach.

Landlock holds it, where the kernel has it: for root as well, and for whatever the environment starts. It knows rules
that allow, and none that deny. So what may be read is everything beside the way to a secret: each directory on that way
is listed, and what appears in one later cannot be read. Where environments work, in the temporary directory for
instance, that would break them; secrets that lie there are not kept from them. Control groups are kept from being
written to in the same way: a process could leave its own.
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
#: Of Landlock, the first versions that allow files to be moved between directories, and that keep signals within.
_WITH_REFER, _WITH_SCOPES = 2, 6
_PR_SET_NO_NEW_PRIVS = 38

_libc = ctypes.CDLL(None, use_errno=True)


def landlock_version() -> int:
    """Returns the version of Landlock that this kernel has; 0 for none."""
    return max(0, int(_libc.syscall(_CREATE_RULESET, None, 0, _ASK_VERSION)))


def confine(config: ServerConfig, group: Path | None) -> None:
    """Keeps this process, and all that it starts, from the server's secrets and from processes around it, for good.

    Where the kernel refuses, the process goes on: docs/security.md says what holds where.

    Args:
        config: The server's settings.
        group: The process's control group, which it cannot leave then; None for none.
    """
    _libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    version = landlock_version()
    if not version:
        return
    rules = list(_rules(config, group, version))
    # A domain of its own is what keeps it from tracing others; that takes some access to handle, and nobody makes
    # devices.
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
    """Yields what is allowed, and beneath which path."""
    secrets = secrets_of(config)
    hidden = [secret for secret in secrets if secret not in exposed(secrets)]
    if hidden:
        yield from ((_READ_FILE, path) for path in _beside(hidden))
    if group is not None:
        yield from ((_WRITE_FILE, path) for path in _beside([all_groups(group)]))
    if version >= _WITH_REFER:  # else no file can be moved from one directory to another
        yield _REFER, Path("/")


def _beside(secrets: list[Path]) -> Iterator[Path]:
    """Yields what lies beside the way from the root to the secrets."""
    way = {part for secret in secrets for part in (secret, *secret.parents)}
    for directory in sorted(way - set(secrets)):
        try:
            entries = list(directory.iterdir())
        except OSError:  # the directory cannot be listed, so nothing beneath it is allowed
            continue
        yield from (entry for entry in entries if entry not in way)


def _allow(ruleset: int, access: int, path: Path) -> None:
    try:
        # What a link leads to has a rule of its own, unless it is a secret.
        descriptor = os.open(path, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return
    _libc.syscall(_ADD_RULE, ruleset, _PATH_BENEATH, struct.pack("=Qi", access, descriptor), 0)
    os.close(descriptor)
