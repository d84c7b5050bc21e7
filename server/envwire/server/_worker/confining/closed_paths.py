"""The paths that environments may not read or change."""

from __future__ import annotations

import contextlib
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
    """Returns the server's secrets, the disks that they may lie on, and terminals."""
    secrets = {path.resolve() for path in secrets_of(config)}
    return {path for path in secrets if not is_exposed(path)} | _devices(config)


def unchangeable(config: ServerConfig, mounts: str) -> set[Path]:
    """Returns what environments may neither change nor replace.

    Args:
        config: The server's settings.
        mounts: Contents of `MOUNTS`.
    """
    files = {step for path in protected_of(config) for step in followed(path)}
    of_the_kernel = {Path("/sys/kernel"), *_mounted(mounts)}
    return {path for path in files | of_the_kernel if not is_exposed(path)} | _devices(config)


def _mounted(mounts: str) -> Iterator[Path]:
    """Yields the directories on which file systems of the kernel are mounted."""
    for line in mounts.splitlines():
        fields, _, source = line.partition(" - ")
        if source.split()[0] in _OF_THE_KERNEL:
            yield Path(fields.split()[4])


def _devices(config: ServerConfig) -> set[Path]:
    own = config.loopback and not config.tokens  # environments of who sits at the terminal
    return {*_disks(), *(() if own else _terminals(os.getppid()))}


def _terminals(pid: int) -> Iterator[Path]:
    """Yields the terminal that controls a process, if one does, and all pseudoterminals.

    What is typed could be read there, and what is written controls the terminal. A rule for one pseudoterminal would
    not do: others of the same user may be open, and Landlock cannot allow those that programs open later.
    """
    fields = " 0 0 0 0 0"
    # Where processes are hidden from each other, a service manager did that, and it gives none a terminal.
    with contextlib.suppress(OSError):
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2]
    if number := int(fields.split()[4]):
        device = os.makedev(number >> 8 & 0xFFF, number & 0xFF | number >> 12 & 0xFFF00)
        yield _DEVICES / "pts"
        yield from (entry for entry in _DEVICES.iterdir() if entry.lstat().st_rdev == device)


def _disks() -> Iterator[Path]:
    """Yields the disks that the server may open, which it can only as root or by an operator's mistake."""
    for entry in _DEVICES.iterdir():
        is_disk = stat.S_ISBLK(entry.lstat().st_mode) or entry.name.startswith(_SCSI)
        if is_disk and (os.access(entry, os.R_OK) or os.access(entry, os.W_OK)):
            yield entry
