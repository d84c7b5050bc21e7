"""Control groups: each session's process has one of its own, and killing the group kills all that it ever started.

That holds against code which forks faster than it can be killed one by one. It takes version 2 of control groups, Linux
5.14, and a server that may make groups beneath its own: one of root, or one to which systemd delegates its group. Else
there are none, and what a session leaves behind is killed one by one.
"""

from __future__ import annotations

import contextlib
import os
import time
from itertools import count
from pathlib import Path

_MEMBERS, _KILL = "cgroup.procs", "cgroup.kill"
_PAUSE_SECONDS = 0.01


class ControlGroups:
    """The control groups of one fork server's sessions.

    Args:
        directory: A group in which they are made; None for no groups.
    """

    def __init__(self, directory: Path | None) -> None:
        self._directory = directory
        self._names = count(1)
        self._groups: dict[int, Path] = {}
        self._killed: list[Path] = []
        self._ended: list[Path] = []

    @classmethod
    def here(cls) -> ControlGroups:
        """Makes a group beneath this process's own, where it may."""
        own = own_group()
        if own is None:
            return cls(None)
        # Numbers of processes tell fork servers apart within one PID namespace, and two of those may share groups.
        prefix = f"envwire_{Path('/proc/self/ns/pid').stat().st_ino}_"
        directory = own / f"{prefix}{os.getpid()}"
        for left in own.glob(f"{prefix}*"):  # by fork servers that were killed
            if not Path("/proc", left.name.removeprefix(prefix)).exists():
                ControlGroups(left).close(0.0)
        try:
            directory.mkdir()
        except OSError:
            return cls(None)
        groups = cls(directory)
        if not (directory / _KILL).exists() or not _is_entered(directory):
            groups.close(0.0)
            return cls(None)
        return groups

    @property
    def are_there(self) -> bool:
        """Whether there are any."""
        return self._directory is not None

    @property
    def waiting(self) -> bool:
        """Whether there are groups to be killed, or to be removed once what was killed is gone."""
        return bool(self._ended or self._killed)

    def new(self) -> Path | None:
        """Makes a group for a session; None where there are none.

        Raises:
            OSError: No more groups can be made.
        """
        if self._directory is None:
            return None
        group = self._directory / str(next(self._names))
        group.mkdir()
        return group

    def put(self, pid: int, group: Path | None) -> None:
        """Notes that a session's process is in a group, which is killed when the process has ended."""
        if group is not None:
            self._groups[pid] = group

    def move(self, pid: int) -> None:
        """Gives a process a group of its own; one that is gone needs none."""
        with contextlib.suppress(OSError):
            if (group := self.new()) is not None:
                self._groups[pid] = group
                _write(group / _MEMBERS, pid)

    def end(self, pid: int) -> None:
        """Notes that a session's process has ended: `kill_ended` kills what it left."""
        if group := self._groups.pop(pid, None):
            self._ended.append(group)

    def kill_ended(self) -> None:
        """Kills what processes that have ended left in their groups, and removes groups in which nothing is left."""
        for group in self._ended:
            _kill(group)
        self._killed += self._ended
        self._ended = []
        self._killed = [group for group in self._killed if not _is_removed(group)]

    def discard(self, group: Path | None) -> None:
        """Removes a group that is not needed."""
        if group is not None:
            group.rmdir()

    def kill_all(self) -> None:
        """Kills whatever is in any of the groups."""
        if self._directory is not None:
            _kill(self._directory)

    def close(self, seconds: float) -> None:
        """Removes the groups; waits so long until what was killed is gone."""
        if self._directory is None:
            return
        left = [*filter(Path.is_dir, self._directory.iterdir()), self._directory]
        deadline = time.monotonic() + seconds
        while (left := [group for group in left if not _is_removed(group)]) and (
            time.monotonic() < deadline
        ):
            time.sleep(_PAUSE_SECONDS)
        self._directory = None


def enter(group: Path | None) -> None:
    """Puts this process into a group.

    Raises:
        OSError: The kernel does not let it.
    """
    if group is not None:
        _write(group / _MEMBERS, 0)


def are_there_groups() -> bool:
    """Returns whether a server that is started from here has groups for its sessions."""
    groups = ControlGroups.here()
    there = groups.are_there
    groups.close(1.0)
    return there


def own_group() -> Path | None:
    """Returns the directory of this process's control group of version 2; None when there is none to be seen."""
    return find_group(_read("/proc/self/cgroup"), _read("/proc/self/mountinfo"))


def find_group(memberships: str, mounts: str) -> Path | None:
    """Returns the directory of the control group of version 2 of a process.

    Args:
        memberships: What /proc/self/cgroup says.
        mounts: What /proc/self/mountinfo says.
    """
    group = next((line[3:] for line in memberships.splitlines() if line.startswith("0::")), None)
    for line in mounts.splitlines():
        fields, _, source = line.partition(" - ")
        root, directory = fields.split()[3:5]
        if source.startswith("cgroup2 ") and group is not None:
            inside = os.path.relpath(group, root)
            return None if inside.startswith("..") else Path(directory, inside)
    return None


def all_groups(group: Path) -> Path:
    """Returns the directory of all control groups, one of which is `group`."""
    while (group.parent / _MEMBERS).exists():
        group = group.parent
    return group


def _is_entered(group: Path) -> bool:
    """Tries whether a process may move to a group: that takes more than to make one."""
    if pid := os.fork():
        return os.waitpid(pid, 0)[1] == 0
    try:
        enter(group)
    except BaseException:
        os._exit(1)
    os._exit(0)


def _kill(group: Path) -> None:
    with contextlib.suppress(FileNotFoundError):  # somebody else removed it
        _write(group / _KILL, 1)


def _is_removed(group: Path) -> bool:
    try:
        group.rmdir()
    except FileNotFoundError:
        return True
    except OSError:  # something in it is about to be gone
        return False
    return True


def _read(path: str) -> str:
    with contextlib.suppress(OSError):
        return Path(path).read_text(encoding="utf-8", errors="replace")
    return ""


def _write(path: Path, number: int) -> None:
    path.write_text(str(number), encoding="ascii")
