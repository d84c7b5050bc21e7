"""The paths that environments may not read or change."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

from envwire.server._auth.secret_files import followed, is_exposed, protected_of, secrets_of
from envwire.server.config import ServerConfig

MOUNTS = Path("/proc/self/mountinfo")
#: File systems by which root controls the kernel and other processes.
_OF_THE_KERNEL = {"proc", "cgroup", "cgroup2", "debugfs", "tracefs", "configfs", "bpf"}
_DEVICES = Path("/dev")
#: Begins the names of devices that take a disk's commands.
_SCSI = "sg"


def unreadable(config: ServerConfig) -> set[Path]:
    """Returns the server's secrets, and the disks that they may lie on."""
    secrets = {path.resolve() for path in secrets_of(config)}
    return {path for path in secrets if not is_exposed(path)} | set(_disks())


def unchangeable(config: ServerConfig, mounts: str) -> set[Path]:
    """Returns what environments may neither change nor replace.

    Args:
        config: The server's settings.
        mounts: Contents of `MOUNTS`.
    """
    files = {step for path in protected_of(config) for step in followed(path)}
    of_the_kernel = {Path("/sys/kernel"), *_mounted(mounts)}
    return {path for path in files | of_the_kernel if not is_exposed(path)} | set(_disks())


def _mounted(mounts: str) -> Iterator[Path]:
    """Yields the directories on which file systems of the kernel are mounted."""
    for line in mounts.splitlines():
        fields, _, source = line.partition(" - ")
        if source.split()[0] in _OF_THE_KERNEL:
            yield Path(fields.split()[4])


def _disks() -> Iterator[Path]:
    """Yields the disks that the server may open, which it can only as root or by an operator's mistake."""
    for entry in _DEVICES.iterdir():
        is_disk = stat.S_ISBLK(entry.lstat().st_mode) or entry.name.startswith(_SCSI)
        if is_disk and (os.access(entry, os.R_OK) or os.access(entry, os.W_OK)):
            yield entry
