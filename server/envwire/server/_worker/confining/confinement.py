"""Confines a session process before it makes an environment, and limits its resources.

Landlock keeps it from the server's secrets and from other processes. If the kernel has it, it also applies to root and
to all processes that the environment starts. Its rules can only allow access. A process is therefore allowed to read
everything except the path to a secret: each directory on that path is listed and its other entries are allowed, so
entries that are created later cannot be read. That would break environments in directories where they work, such as the
temporary directory; secrets there are not protected. Write access to control groups is denied in the same way, since a
process could otherwise leave its own.

Memory is limited by RLIMIT_DATA, which counts private writable memory. RLIMIT_AS would also count mapped files and
reserved addresses, of which numerical libraries take far more than they use. Limits are inherited and apply to each
process that an environment starts, not to their sum; to limit the sum, run the server in a container. A container must
also limit the number of processes, since RLIMIT_NPROC counts all processes of a user.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import resource
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


def contain(config: ServerConfig) -> None:
    """Limits this process from now on; lower limits set by the system stay."""
    for limit, soft, hard in _limits(config):
        # A sandbox may refuse, and has its own limits.
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(limit, (_lower(limit, soft), _lower(limit, hard)))


def _lower(limit: int, value: int) -> int:
    _, highest = resource.getrlimit(limit)
    return value if highest == resource.RLIM_INFINITY else min(value, highest)


def _limits(config: ServerConfig) -> Iterator[tuple[int, int, int]]:
    """Yields (limit, soft, hard)."""
    if memory := config.max_session_memory:
        allowed = _data_bytes() + memory
        yield resource.RLIMIT_DATA, allowed, allowed
    if cpu := config.max_session_cpu:
        # SIGXCPU comes first and names the cause; an environment that catches it is killed a second later.
        yield resource.RLIMIT_CPU, cpu, cpu + 1
    if files := config.max_session_files:
        yield resource.RLIMIT_NOFILE, files, files


def _data_bytes() -> int:
    """Returns the private memory, in bytes, that the process already has from the fork server."""
    status = Path("/proc/self/status").read_text()
    lines = dict(line.split(":", 1) for line in status.splitlines())
    return int(lines["VmData"].split()[0]) * 1024
