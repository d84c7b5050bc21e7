"""Control groups: each session process has its own, and killing the group kills everything that it ever started.

That works even against code that forks faster than processes can be killed one by one. A session process is born in its
group, since the kernel takes ten milliseconds to move a process: its fork server waits there for the Make.

It needs control groups version 2, Linux 5.14, and a server that may create groups beneath its own: as root, or with a
group delegated by systemd. Otherwise there are no groups, and the remains of a session are killed one by one.
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
        directory: The parent group; None for no groups.
    """

    def __init__(self, directory: Path | None) -> None:
        self._directory = directory
        self._names = count(1)
        #: Where this process is, if that is the group of the next session.
        self._next: Path | None = None
        self._groups: dict[int, Path] = {}
        self._killed: list[Path] = []
        self._ended: list[Path] = []

    @classmethod
    def here(cls) -> ControlGroups:
        """Creates a parent group beneath this process's own group, if permitted."""
        own = own_group()
        if own is None:
            return cls(None)
        # Pids are unique only within a PID namespace, and several namespaces may share control groups.
        prefix = f"envwire_{Path('/proc/self/ns/pid').stat().st_ino}_"
        directory = own / f"{prefix}{os.getpid()}"
        for left in own.glob(f"{prefix}*"):  # left by fork servers that were killed
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
    def waiting(self) -> bool:
        """Whether some groups still have to be killed or removed."""
        return bool(self._ended or self._killed)

    def new(self) -> Path | None:
        """Creates a group for a session; None if groups are unavailable.

        Raises:
            OSError: No more groups can be created.
        """
        if self._directory is None:
            return None
        group = self._directory / str(next(self._names))
        group.mkdir()
        return group

    def enter_next(self) -> None:
        """Moves this process into the group of the next session, unless it is there.

        Raises:
            OSError: No more groups can be created; the process is in the group of no session.
        """
        if self._next is not None:
            return
        try:
            if (group := self.new()) is not None:
                _enter(group)
        except OSError:
            self.leave()
            raise
        self._next = group

    def leave(self) -> None:
        """Moves this process back among the others of the server, out of the group of any session."""
        if self._directory is not None:
            _enter(self._directory.parent)
            self._next = None

    def put(self, pid: int) -> None:
        """Assigns a group to a session process that was born there; it is killed when the process has ended.

        This process must be out of it by then, by `enter_next` or `leave`.
        """
        if self._next is not None:
            self._groups[pid], self._next = self._next, None

    def move(self, pid: int) -> None:
        """Moves a process into a new group of its own, unless it is gone."""
        with contextlib.suppress(OSError):
            if (group := self.new()) is not None:
                self._groups[pid] = group
                _write(group / _MEMBERS, pid)

    def end(self, pid: int) -> None:
        """Records that a session process has ended; `kill_ended` kills the rest of its group."""
        if group := self._groups.pop(pid, None):
            self._ended.append(group)

    def kill_ended(self) -> None:
        """Kills what is left in the groups of ended processes, and removes empty groups."""
        for group in self._ended:
            _kill(group)
        self._killed += self._ended
        self._ended = []
        self._killed = [group for group in self._killed if not _is_removed(group)]

    def kill_all(self) -> None:
        """Kills all processes in all groups, except this one."""
        if self._directory is not None:
            self.leave()
            _kill(self._directory)

    def close(self, seconds: float) -> None:
        """Removes the groups; waits up to `seconds` until the killed processes are gone."""
        if self._directory is None:
            return
        left = [*filter(Path.is_dir, self._directory.iterdir()), self._directory]
        deadline = time.monotonic() + seconds
        while (left := [group for group in left if not _is_removed(group)]) and (
            time.monotonic() < deadline
        ):
            time.sleep(_PAUSE_SECONDS)
        self._directory = None


def own_group() -> Path | None:
    """Returns the directory of this process's control group (version 2); None if it is not visible."""
    return find_group(_read("/proc/self/cgroup"), _read("/proc/self/mountinfo"))


def find_group(memberships: str, mounts: str) -> Path | None:
    """Returns the directory of a process's control group (version 2).

    Args:
        memberships: Contents of /proc/self/cgroup.
        mounts: Contents of /proc/self/mountinfo.
    """
    group = next((line[3:] for line in memberships.splitlines() if line.startswith("0::")), None)
    for line in mounts.splitlines():
        fields, _, source = line.partition(" - ")
        root, directory = fields.split()[3:5]
        if source.startswith("cgroup2 ") and group is not None:
            inside = os.path.relpath(group, root)
            return None if inside.startswith("..") else Path(directory, inside)
    return None


def _is_entered(group: Path) -> bool:
    """Tests whether a process may move to a group, which needs more permissions than creating one."""
    if pid := os.fork():
        return os.waitpid(pid, 0)[1] == 0
    try:
        _enter(group)
    except BaseException:
        os._exit(1)
    os._exit(0)


def _enter(group: Path) -> None:
    """Moves this process into a group."""
    _write(group / _MEMBERS, 0)


def _kill(group: Path) -> None:
    with contextlib.suppress(FileNotFoundError):  # already removed
        _write(group / _KILL, 1)


def _is_removed(group: Path) -> bool:
    try:
        group.rmdir()
    except FileNotFoundError:
        return True
    except OSError:  # a killed process in it has not exited yet
        return False
    return True


def _read(path: str) -> str:
    with contextlib.suppress(OSError):
        return Path(path).read_text(encoding="utf-8", errors="replace")
    return ""


def _write(path: Path, number: int) -> None:
    path.write_text(str(number), encoding="ascii")
