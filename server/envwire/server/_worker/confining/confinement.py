"""Confines a session process before it makes an environment, and limits its resources.

Landlock keeps it from reading the server's secrets, from changing them and what controls the kernel, and from other
processes. A filter of system calls covers what Landlock does not. Both apply to root as well, which also loses the
privileges to circumvent them, and to all processes that the environment starts. Other privileges of root stay, such as
those by which it reads files of other users, opens low ports, or configures networks.

Landlock can only allow, so what is created later beside a secret, or in a directory above it, is closed as well. That
would break environments in directories where they work, such as the temporary one; secrets there are not protected.

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
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from envwire.server._auth.secret_files import MOUNTS, unchangeable, unreadable
from envwire.server._worker.confining.control_groups import own_group
from envwire.server._worker.confining.landlock import (
    OVERWRITE,
    READ,
    WRITE,
    above,
    beside,
    landlock_version,
    make_ruleset,
    restrict_self,
)
from envwire.server._worker.confining.system_calls import filters_calls, spare_other_processes
from envwire.server.config import ServerConfig

#: Numbers of capabilities, see capabilities(7), and what a session could do with them.
_TAKEN = {
    "CAP_DAC_READ_SEARCH": 2,  # open files by handle, without a path
    "CAP_LINUX_IMMUTABLE": 9,  # make files immutable, such as the token file
    "CAP_SYS_MODULE": 16,
    "CAP_SYS_RAWIO": 17,  # read the memory of the machine
    "CAP_SYS_PTRACE": 19,
    "CAP_SYS_PACCT": 20,
    "CAP_SYS_ADMIN": 21,  # mount, trace the kernel, write to terminals in the name of their user
    "CAP_SYS_BOOT": 22,
    "CAP_SYS_RESOURCE": 24,  # raise its own limits again
    "CAP_SYS_TIME": 25,
    "CAP_MKNOD": 27,  # make a device node for the disk
    "CAP_SYSLOG": 34,
    "CAP_PERFMON": 38,  # sample the memory of other processes
    "CAP_BPF": 39,
    "CAP_CHECKPOINT_RESTORE": 40,
}
_VERSION_3 = 0x20080522
#: A header and two times three sets, effective, permitted and inheritable: of capabilities below 32, and the others.
_HEADER, _SETS = struct.Struct("=Ii"), struct.Struct("=6I")

_libc = ctypes.CDLL(None, use_errno=True)


def give_up_privileges() -> None:
    """Takes them from this process and all its descendants, for good if they cannot gain privileges."""
    header, sets = _HEADER.pack(_VERSION_3, 0), ctypes.create_string_buffer(_SETS.size)
    if _libc.capget(header, sets) != 0:
        return
    taken = sum(1 << number for number in _TAKEN.values())
    kept = [
        held & ~(taken >> 32 * half & 0xFFFFFFFF)
        for half, held in zip((0, 0, 0, 1, 1, 1), _SETS.unpack(sets.raw), strict=True)
    ]
    _libc.capset(header, _SETS.pack(*kept))


#: What environments can do where Landlock is older than a version, and since when Linux has that.
_BEFORE = {
    6: ("signal the server and each other's processes", "6.12"),
    3: ("empty the server's tokens, keys and recordings", "6.2"),
}
_WITHOUT = (
    "read and change the server's tokens, keys and recordings, and reach each other's processes: this kernel has no "
    "Landlock (Linux 5.13, in /sys/kernel/security/lsm)"
)
_UNFILTERED = "lower limits and priorities of other processes: this kernel has no seccomp filters"


def not_held(landlock: int | None = None, seccomp: bool | None = None) -> str:
    """Returns what environments can do on this kernel in one line; "" if it holds every promise.

    Args:
        landlock: The version of Landlock, 0 for none; by default this kernel's.
        seccomp: Whether calls can be filtered; by default whether this kernel can.
    """
    landlock = landlock_version() if landlock is None else landlock
    seccomp = filters_calls() if seccomp is None else seccomp
    missing = [
        f"{what} (Linux {linux})" for since, (what, linux) in _BEFORE.items() if landlock < since
    ]
    told = [*(missing if landlock else [_WITHOUT]), *([] if seccomp else [_UNFILTERED])]
    return "environments can " + "; they can ".join(told) if told else ""


NVIDIA = Path("/dev/nvidiactl")
"""What tells that there is a GPU of NVIDIA."""

_PR_SET_NO_NEW_PRIVS = 38
#: How many open files more the front has than a session's process; 253 descriptors can be sent at once.
_FILES_OF_THE_FRONT = 2048
#: How much likelier than the front a process is ended when memory is short, in thousandths of the memory; the highest.
_BEFORE_THE_FRONT, _FIRST = 300, 1000


#: What a ruleset depends on: the file systems that are mounted, and the times of directories that it lists.
_Seen = tuple[str, dict[Path, int]]


class Confinement:
    """Confines the session processes of one fork server, or a fork server itself, for good.

    What the kernel does not offer is left out: docs/security.md lists what holds where.

    Args:
        config: The server's settings.
        of_forkserver: Whether a fork server is confined, which makes control groups for its sessions.

    Attributes:
        number: Of the rules: how many were made so far.
    """

    def __init__(self, config: ServerConfig, of_forkserver: bool = False) -> None:
        self._config = config
        self._of_forkserver = of_forkserver
        self.number = 0
        self._ruleset: int | None = None
        self._allowed: dict[Path, int] = {}
        self._seen: _Seen = ("", {})

    def prepare(self) -> None:
        """Makes the rules for the next process, unless they are as before. Called in the fork server."""
        seen = MOUNTS.read_text(), {directory: _changed(directory) for directory in self._seen[1]}
        if seen == self._seen:
            return
        self.close()
        mounts, _ = seen
        closed = {READ: unreadable(self._config), WRITE: unchangeable(self._config, mounts)}
        listed = set[Path]().union(*map(above, closed.values()))
        self._seen = mounts, {directory: _changed(directory) for directory in listed}
        allowed = Counter[Path]()
        for right, paths in closed.items():
            allowed.update(dict.fromkeys(beside(paths) if paths else [Path("/")], right))
        if self._of_forkserver and (group := own_group()):
            allowed[group] = READ | WRITE
        self._allowed, self._ruleset = allowed, make_ruleset(allowed)
        self.number += 1

    def apply(self) -> None:
        """Confines this process, which has one thread, the programs that it becomes, and all its descendants."""
        _die_before_the_front()
        _libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
        give_up_privileges()
        if NVIDIA.exists():
            self._allow_own_names()
        if self._ruleset is not None:
            restrict_self(self._ruleset)
        spare_other_processes()
        _leave_files()
        self.close()

    def _allow_own_names(self) -> None:
        """Lets this process change its own files in /proc: the driver of NVIDIA names its threads there, or fails.

        In rules of its own: those of the fork server would let each process change those of the ones before it. A fork
        server may do so for all its sessions.
        """
        own = Path("/proc" if self._of_forkserver else f"/proc/{os.getpid()}")
        self.close()
        self._ruleset = make_ruleset({**self._allowed, own: OVERWRITE})
        # The rule holds for the directory that the kernel has in memory, which an open descriptor keeps there.
        os.set_inheritable(os.open(own, os.O_PATH), True)

    def close(self) -> None:
        """Closes the rules."""
        ruleset, self._ruleset = self._ruleset, None
        if ruleset is not None:
            os.close(ruleset)


def _changed(directory: Path) -> int:
    """Returns when an entry of a directory was last made or removed; 0 if it is gone."""
    try:
        return os.stat(directory).st_mtime_ns
    except OSError:
        return 0


def _die_before_the_front() -> None:
    """Has the kernel end this process before the front when memory is short, even if the front is larger.

    Files in memory, such as those in /tmp of a container, count for no process: the front was the largest one.
    """
    score = Path("/proc/self/oom_score_adj")
    # There is no such file but on Linux, nor where a fork server's rules close it, whose score is inherited.
    with contextlib.suppress(OSError):
        score.write_text(str(min(int(score.read_text()) + _BEFORE_THE_FRONT, _FIRST)))


def _leave_files() -> None:
    """Lowers this process's limit of open files below the front's."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    lower = hard - min(_FILES_OF_THE_FRONT, hard // 2)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(soft, lower), lower))


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
        cpu += int(time.process_time())  # what a new interpreter took for its imports
        # SIGXCPU comes first and names the cause; an environment that catches it is killed a second later.
        yield resource.RLIMIT_CPU, cpu, cpu + 1
    if files := config.max_session_files:
        yield resource.RLIMIT_NOFILE, files, files


def _data_bytes() -> int:
    """Returns the private memory, in bytes, that the process already has from imports."""
    status = Path("/proc/self/status").read_text()
    lines = dict(line.split(":", 1) for line in status.splitlines())
    return int(lines["VmData"].split()[0]) * 1024
