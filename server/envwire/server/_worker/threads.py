"""Threads that a fork would lose: the kernel copies only the thread that forks, with the locks of all others.

OpenBLAS, which comes with NumPy and SciPy, starts threads when it is loaded and ends them before each fork. So threads
are counted after a fork that does nothing. For environments whose modules start threads when imported, session
processes are new interpreters. Between the fork and the new program such a process only confines itself, which takes no
lock that other threads could hold.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass

#: Seconds for threads that end by themselves. Only modules that leave threads behind cost them.
_END_SECONDS = 0.2
_PAUSE_SECONDS = 0.01
#: Seconds for the forked process to exit. It hangs if a handler waits for a lock of a thread that it lacks.
_EXIT_SECONDS = 1.0


def count_threads() -> int:
    """Returns how many threads this process has, those of native code included."""
    return len(os.listdir("/proc/self/task"))


def lasting_threads(seconds: float = _END_SECONDS) -> int:
    """Returns how many other threads are left after a fork, which ends those of libraries that know of forks.

    Args:
        seconds: How long to wait for threads that end by themselves.
    """
    if count_threads() == 1:
        return 0
    _fork_for_nothing()
    deadline = time.monotonic() + seconds
    while (others := count_threads() - 1) and time.monotonic() < deadline:
        time.sleep(_PAUSE_SECONDS)
    return others


def _fork_for_nothing() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Python 3.12 and JAX warn of the threads counted here
        pid = os.fork()
    if pid == 0:
        os._exit(0)
    deadline = time.monotonic() + _EXIT_SECONDS
    while not os.waitpid(pid, os.WNOHANG)[0]:
        if time.monotonic() > deadline:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            return
        time.sleep(_PAUSE_SECONDS / 10)


class ThreadWatch:
    """Finds the modules whose import starts threads that last.

    Attributes:
        started: How many threads each of them started.
    """

    def __init__(self) -> None:
        self.started: dict[str, int] = {}
        self._counted = count_threads()
        self._lasting = 0

    def imported(self, module: str) -> None:
        """Counts the threads after the import of a module."""
        if count_threads() > self._counted:
            lasting = lasting_threads(0.0)
            if lasting > self._lasting:
                self.started[module] = lasting - self._lasting
            self._lasting = lasting
        self._counted = count_threads()

    def conclude(self) -> dict[str, int]:
        """Returns how many threads each module started; empty if none are left."""
        lasting = lasting_threads()
        return (self.started or {"a module": lasting}) if lasting else {}


#: First argument of the program (`main.py`) for a session process.
SESSION = "session"


@dataclass(frozen=True)
class NewInterpreters:
    """How to start session processes: as the fork server itself was started, before modules could change that.

    Attributes:
        command: The interpreter and the program.
        variables: The environment variables.
        directory: The current directory.
        settings: The server's settings, as text.
    """

    command: Sequence[str]
    variables: dict[str, str]
    directory: str
    settings: str

    @classmethod
    def like_this(cls, settings: str) -> NewInterpreters:
        """Describes this process.

        Args:
            settings: The server's settings, as text.
        """
        program = sys.orig_argv[1 : len(sys.orig_argv) - len(sys.argv[1:])]
        return cls((sys.executable, *program), dict(os.environ), os.getcwd(), settings)

    def start(self, descriptors: Sequence[int], confine: Callable[[], None]) -> int:
        """Starts a session process and returns its pid; the caller reaps it.

        Args:
            descriptors: Those of `SessionDescriptors`.
            confine: Confines the new process before its program starts.

        Raises:
            OSError: The system is temporarily out of processes or memory, or the process could not be confined.
        """
        # A pipe might be full before the new process reads it. Each has a file of its own: they could write to it.
        with open(os.memfd_create("envwire-settings"), "w+", encoding="utf-8") as settings:
            settings.write(self.settings)
            settings.seek(0)
            try:
                process = subprocess.Popen(  # noqa: S603 - our own program
                    [*self.command, SESSION, *map(str, descriptors)],
                    stdin=settings,
                    pass_fds=descriptors,
                    env=self.variables,
                    cwd=self.directory,
                    preexec_fn=confine,  # noqa: PLW1509 - takes no locks
                )
            except subprocess.SubprocessError as error:
                raise OSError(f"a new interpreter was not confined: {error}") from error
        process.returncode = 0  # else `subprocess` reaps it, and its exit status is lost
        return process.pid
