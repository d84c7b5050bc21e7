"""Starts session processes as new interpreters, for environments whose modules start threads when imported.

Between the fork and the new program a process only confines itself, which takes no lock that other threads could hold.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass

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
