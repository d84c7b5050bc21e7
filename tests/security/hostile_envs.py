"""An environment that searches its process for secrets and resources."""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
import resource
import shutil
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import envwire.envs as gym
from envwire.server._worker import session_making
from envwire.v1 import environment_pb2 as pb

_libc = ctypes.CDLL(None, use_errno=True)
_PIDFD_GETFD, _PTRACE_SEIZE = 438, 0x4206
_IOPRIO_SET, _IOPRIO_OF_PROCESS, _IOPRIO_BEST_EFFORT = 251, 1, 2 << 13


class Spy(gym.Env[Any, Any]):
    """Returns its findings."""

    observation_space = action_space = gym.spaces.Discrete(2)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[int, dict[str, Any]]:
        super().reset(seed=seed)
        return 0, {}

    def step(self, action: Any) -> tuple[int, float, bool, bool, dict[str, Any]]:
        return 0, 0.0, False, False, {}

    def open_files(self) -> list[str]:
        """Returns what its descriptors lead to."""
        own = Path("/proc/self/fd")
        return [os.readlink(own / name) for name in os.listdir(own) if (own / name).exists()]

    def tcp_sockets(self) -> list[str]:
        """Returns the numbers of all TCP sockets of this machine."""
        lines = [
            line
            for table in ("tcp", "tcp6")
            for line in Path(f"/proc/net/{table}").read_text().splitlines()[1:]
        ]
        return [f"socket:[{line.split()[9]}]" for line in lines]

    def modules(self) -> list[str]:
        """Returns the loaded modules."""
        return list(sys.modules)

    def pids(self) -> list[int]:
        """Returns the numbers of this process and its parent, the fork server."""
        return [os.getpid(), os.getppid()]

    def opened(self, paths: list[str]) -> list[str]:
        """Returns those of some files that it can open to read."""
        return list(filter(_opens, paths))

    def followed(self, pid: int) -> list[str]:
        """Returns the targets of a process's descriptors, as far as they are readable."""
        found: list[str] = []
        with suppress(PermissionError):
            for link in Path(f"/proc/{pid}/fd").iterdir():
                with suppress(FileNotFoundError):  # the directory that is being listed
                    found.append(os.readlink(link))
        return found

    def child(self) -> int:
        """Starts a process, which it may do with as it likes; returns its number."""
        self._child = subprocess.Popen(["sleep", "600"])
        return self._child.pid

    def seized(self, pid: int) -> list[str]:
        """Returns what it can access in a process by system calls."""
        with os.fdopen(os.pidfd_open(pid)) as process:
            descriptor = _libc.syscall(_PIDFD_GETFD, process.fileno(), 0, 0)
            held = {"descriptor": descriptor >= 0 or ctypes.get_errno() != errno.EPERM}
        if descriptor >= 0:
            os.close(descriptor)
        nowhere = (ctypes.c_void_p * 2)(1, 1)
        count = _libc.process_vm_readv(pid, nowhere, 1, nowhere, 1, 0)
        held["memory"] = count >= 0 or ctypes.get_errno() != errno.EPERM
        held["trace"] = _libc.ptrace(_PTRACE_SEIZE, pid, None, None) == 0
        return [what for what, is_held in held.items() if is_held]

    def signalled(self, pids: list[int]) -> list[int]:
        """Returns those of some processes that it can send a signal to."""
        return list(filter(_signals, pids))

    def changed(self, file: str) -> list[str]:
        """Returns in which ways it can change a file or replace it."""
        return [name for name, way in _CHANGES.items() if _works(way, Path(file))]

    def writable(self, folder: str) -> list[str]:
        """Returns the files in a folder that it has open for writing."""
        held = [Path("/proc/self/fd", name) for name in os.listdir("/proc/self/fd")]
        inside = [
            link for link in held if link.is_symlink() and os.readlink(link).startswith(folder)
        ]
        modes = {link: fcntl.fcntl(int(link.name), fcntl.F_GETFL) & os.O_ACCMODE for link in inside}
        return [os.readlink(link) for link, mode in modes.items() if mode != os.O_RDONLY]

    def scribble(self) -> None:
        """Writes into every pipe that it can open by a descriptor, except that of its output, which the front reads."""
        output = os.readlink("/proc/self/fd/1")
        for name in os.listdir("/proc/self/fd"):
            with suppress(OSError):
                if os.readlink(link := f"/proc/self/fd/{name}").startswith("pipe:") and (
                    os.readlink(link) != output
                ):
                    os.write(os.open(link, os.O_WRONLY | os.O_NONBLOCK), b"x")

    def governed(self, pid: int) -> list[str]:
        """Returns what it can set for another process."""
        return [name for name, way in _SETTINGS.items() if _works(way, pid)]

    def pinned(self, pid: int) -> None:
        """Has a process run on one processor only, if it can."""
        os.sched_setaffinity(pid, {min(os.sched_getaffinity(0))})

    def output_of(self, command: list[str]) -> str:
        """Returns what a program prints, and how it ends."""
        ran = subprocess.run(command, capture_output=True, text=True, check=False)
        return f"{ran.stdout}{ran.stderr}{ran.returncode}"

    def surroundings(self) -> str:
        """Returns the process's arguments and variables."""
        return " ".join([*sys.argv, *os.environ.values()])


class Liar(Spy):
    """Has its process add an address to the answer to its Make.

    Args:
        address: The address.
    """

    def __init__(self, address: str) -> None:
        truth = session_making.describe

        def lie(env: Any, family: Any) -> pb.MakeResponse:
            made = truth(env, family)
            made.direct.addresses.append(address)
            return made

        setattr(session_making, "describe", lie)  # noqa: B010 - a function, to which mypy lets nothing be assigned


def _opens(path: str) -> bool:
    try:
        with open(path, "rb"):
            return True
    except PermissionError:
        return False


def _signals(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except PermissionError:
        return False
    return True


def _works(way: Callable[[Any], object], subject: Any) -> bool:
    try:
        way(subject)
    except OSError:
        return False
    return True


def _exchange_folders(file: Path) -> None:
    """Puts a copy of its own in the place of the folder, and later the folder in its place again."""
    away = file.parent.with_name("away")
    file.parent.rename(away)
    away.rename(file.parent)


def _link_over(file: Path) -> None:
    own = Path("/tmp", f"own-{os.getpid()}")
    own.write_text("mallory admin 0\n")
    try:
        shutil.copyfile(own, file.with_name("new"))
        own.replace(file)
    finally:
        own.unlink(missing_ok=True)


_CHANGES: dict[str, Callable[[Path], object]] = {
    "append": lambda file: file.open("a").close(),
    "append to the link of a descriptor": lambda file: open(
        f"/proc/self/fd/{os.open(file, os.O_PATH)}", "a"
    ).close(),
    "truncate": lambda file: os.truncate(file, file.stat().st_size),
    "write without its path": lambda file: os.open(
        file.name, os.O_WRONLY, dir_fd=os.open(file.parent, os.O_PATH)
    ),
    "write through the root of a process": lambda file: os.open(
        f"/proc/self/root{file}", os.O_WRONLY
    ),
    "replace": _link_over,
    "create beside it": lambda file: file.with_name("beside").touch(),
    "create without a name": lambda file: os.open(file.parent, os.O_TMPFILE | os.O_WRONLY),
    "make a link beside it": lambda file: file.with_name("link").symlink_to("/etc/passwd"),
    "make a directory beside it": lambda file: file.with_name("folder").mkdir(),
    "rename": lambda file: file.rename(file.with_name("renamed")),
    "link elsewhere": lambda file: os.link(file, f"/tmp/linked-{os.getpid()}"),
    "rename its folder": _exchange_folders,
    "mount": lambda file: _checked(_libc.mount(b"/etc", bytes(file.parent), None, 4096, None)),
    "remove": os.unlink,
}

_SETTINGS: dict[str, Callable[[int], object]] = {
    "limits": lambda pid: resource.prlimit(
        pid, resource.RLIMIT_CORE, resource.prlimit(pid, resource.RLIMIT_CORE)
    ),
    "priority": lambda pid: os.setpriority(os.PRIO_PROCESS, pid, 1),
    "priority of its group": lambda pid: os.setpriority(os.PRIO_PGRP, os.getpgid(pid), 1),
    "scheduler": lambda pid: os.sched_setscheduler(pid, os.SCHED_IDLE, os.sched_param(0)),
    "parameters": lambda pid: os.sched_setparam(pid, os.sched_getparam(pid)),
    "input and output": lambda pid: _checked(
        _libc.syscall(_IOPRIO_SET, _IOPRIO_OF_PROCESS, pid, _IOPRIO_BEST_EFFORT)
    ),
    "who dies first": lambda pid: Path(f"/proc/{pid}/oom_score_adj").write_text("1000"),
    "time slices": lambda pid: Path(f"/proc/{pid}/autogroup").write_text("19"),
}


def _checked(answer: int) -> None:
    if answer != 0:
        raise OSError(ctypes.get_errno(), "refused")


gym.register(
    id="hostile/Spy-v0", entry_point="tests.security.hostile_envs:Spy", disable_env_checker=True
)
gym.register(
    id="hostile/Liar-v0", entry_point="tests.security.hostile_envs:Liar", disable_env_checker=True
)
