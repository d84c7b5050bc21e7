"""The server's secret files, and the paths that environments may therefore not read or change."""

from __future__ import annotations

import contextlib
import dataclasses
import logging
import os
import re
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path

from envwire.server.config import ServerConfig

_log = logging.getLogger("envwire.server")

#: Most links that the kernel follows on one path.
_LINKS = 40


def secrets_of(config: ServerConfig) -> list[Path]:
    """Returns the files, and the directory of recordings, that only the front may read."""
    secrets = (config.tls_key, config.tokens, config.join_token, config.record)
    return [Path(path).absolute() for path in secrets if path]


def protected_of(config: ServerConfig) -> list[Path]:
    """Returns what environments may not replace: the secrets, and the certificates that the server trusts."""
    public = (config.tls_cert, config.tls_client_ca, config.join_ca)
    return [*secrets_of(config), *(Path(path).absolute() for path in public if path)]


def followed(path: Path) -> Iterator[Path]:
    """Yields the links on the way to a file, and the file itself: whoever replaces one of them replaces the file."""
    at, parts, links = Path("/"), list(reversed(path.parts[1:])), 0
    while parts:
        part = parts.pop()
        step = at.parent if part == ".." else at / part
        if links < _LINKS and step.is_symlink():
            yield step
            target = step.readlink()
            at = Path("/") if target.is_absolute() else at
            parts += [each for each in reversed(target.parts) if each != target.anchor]
            links += 1
        else:
            at = step
    yield at


def is_exposed(path: Path) -> bool:
    """Returns whether a path lies where environments work, so that it cannot be closed to them."""
    working = {Path(tempfile.gettempdir()).resolve(), Path.cwd(), Path.home().resolve()}
    return not (working - {Path("/")}).isdisjoint(path.parents)


def warn_of_exposed(config: ServerConfig) -> None:
    """Logs which files environments can read or replace. On loopback, recordings do not count as secrets."""
    checked = dataclasses.replace(config, record="") if config.loopback else config
    exposed = [path for path in protected_of(checked) if any(map(is_exposed, followed(path)))]
    if exposed:
        _log.warning(
            "environments may read and replace %s, beneath the working, home or temporary directory; keep %s in a "
            "directory of its own, such as /etc/envwire",
            ", ".join(map(os.fspath, exposed)),
            "them" if len(exposed) > 1 else "it",
        )


MOUNTS = Path("/proc/self/mountinfo")
#: File systems by which root controls the kernel, the machine's hardware and other processes.
_OF_THE_KERNEL = {
    *("proc", "sysfs", "cgroup", "cgroup2", "debugfs", "tracefs", "configfs", "securityfs"),
    *("efivarfs", "pstore", "bpf"),
}
_DEVICES = Path("/dev")
#: Names of devices by which root reaches disks, memory and the kernel's log, or restarts the machine.
_CONTROLS = r"sg\d+|nvme\d.*|ng\d.*|bsg|loop-control|mem|kmem|port|nvram|kmsg|watchdog\d*"
#: Names of the machine's own screen and keyboard.
_SCREENS = r"console|tty\d+|vcs.*"


def unreadable(config: ServerConfig) -> set[Path]:
    """Returns the server's secrets, the disks that they may lie on, and other devices that environments may not use."""
    secrets = {path.resolve() for path in secrets_of(config)}
    return {path for path in secrets if not is_exposed(path)} | _devices(config)


def unchangeable(config: ServerConfig, mounts: str) -> set[Path]:
    """Returns what environments may neither change nor replace.

    Args:
        config: The server's settings.
        mounts: Contents of `MOUNTS`.
    """
    files = {step for path in protected_of(config) for step in followed(path)}
    closed = files.union(_mounted(mounts))
    return {path for path in closed if not is_exposed(path)} | _devices(config)


def _mounted(mounts: str) -> Iterator[Path]:
    """Yields the directories on which file systems of the kernel are mounted."""
    for line in mounts.splitlines():
        fields, _, source = line.partition(" - ")
        if source.split()[0] in _OF_THE_KERNEL:
            yield Path(fields.split()[4])


def _devices(config: ServerConfig) -> set[Path]:
    own = config.loopback and not config.tokens  # environments of who sits at the terminal
    names = _CONTROLS if own else f"{_CONTROLS}|{_SCREENS}"
    return {*_usable(names), *(() if own else _terminals(os.getppid()))}


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


def _usable(names: str) -> Iterator[Path]:
    """Yields disks, and devices of these names, that the server may use, as only root can unless by mistake."""
    for entry in _DEVICES.iterdir():
        is_disk = stat.S_ISBLK(entry.lstat().st_mode)
        if (is_disk and os.access(entry, os.R_OK)) or (
            (is_disk or re.fullmatch(names, entry.name)) and os.access(entry, os.W_OK)
        ):
            yield entry
