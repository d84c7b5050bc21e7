"""An environment that searches its process for secrets and resources."""

from __future__ import annotations

import ctypes
import errno
import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import envwire.envs as gym

_libc = ctypes.CDLL(None, use_errno=True)
_PIDFD_GETFD, _PTRACE_SEIZE = 438, 0x4206


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

    def surroundings(self) -> str:
        """Returns the process's arguments and variables."""
        return " ".join([*sys.argv, *os.environ.values()])


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


gym.register(
    id="hostile/Spy-v0", entry_point="tests.security.hostile_envs:Spy", disable_env_checker=True
)
