"""A newcomer's terminals: commands in a fresh copy of the checkout, without anything of this one."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import time
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import NamedTuple

#: Longest wait for a command, and for a server to be ready.
COMMAND_SECONDS, READY_SECONDS = 1800.0, 120.0


class Background:
    """A command that runs beside others, in a terminal of its own."""

    def __init__(self, process: subprocess.Popen[bytes], log: Path) -> None:
        self._process, self._log = process, log

    def printed(self) -> str:
        """Returns what it has printed until now."""
        return self._log.read_text()

    def wait_for(self, text: str) -> None:
        """Waits until it has printed a text."""
        deadline = time.monotonic() + READY_SECONDS
        while text not in self.printed():
            if self._process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"it printed no {text!r}: {self.printed()}")
            time.sleep(0.05)

    def finish(self) -> str:
        """Waits for its end, and returns what it printed; raises if it failed."""
        if self._process.wait(COMMAND_SECONDS):
            raise RuntimeError(f"it ended with status {self._process.returncode}: {self.printed()}")
        print(_end_of(self.printed()), flush=True)
        return self.printed()

    def stop(self) -> None:
        """Stops it as Ctrl-C does, and what it started."""
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGINT)
        try:
            self._process.wait(READY_SECONDS)
        finally:
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)


class Taken(NamedTuple):
    """What a path has taken: seconds, and seconds of processor time of the commands that ended."""

    seconds: float
    processor: float


class Shell:
    """Runs commands in one folder, says how long each took, and keeps the variables of a newcomer."""

    def __init__(self, folder: Path) -> None:
        kept = {"HOME", "LANG", "PATH"} | {name for name in os.environ if name.startswith("PIP_")}
        self.folder = folder
        self.env = {name: os.environ[name] for name in kept & os.environ.keys()}
        self.reached: dict[str, Taken] = {}
        self._begun = self._now()
        self._running = ExitStack()

    def close(self) -> None:
        """Stops what still runs."""
        self._running.close()

    def reach(self, what: str) -> None:
        """Notes what it took to reach something."""
        now, begun = self._now(), self._begun
        taken = self.reached[what] = Taken(
            now.seconds - begun.seconds, now.processor - begun.processor
        )
        print(
            f"  reached: {what}, after {taken.seconds:.0f} s, {taken.processor:.0f} s of them computing",
            flush=True,
        )

    @staticmethod
    def _now() -> Taken:
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        return Taken(time.monotonic(), used.ru_utime + used.ru_stime)

    def write(self, name: str, text: str) -> None:
        """Writes a file, as with an editor."""
        (self.folder / name).write_text(text, encoding="utf-8")

    def enter(self, folder: str) -> None:
        """Makes a folder, and goes there."""
        self.folder = self.folder / folder
        self.folder.mkdir()

    def follow(self, command: str) -> None:
        """Runs a command as a terminal does: one that ends with an ampersand, beside the next ones."""
        if command.startswith(". "):
            self.activate(command.removeprefix(". ").removesuffix("/bin/activate"))
        elif command.endswith("&"):
            self.start(command.removesuffix("&"))
        else:
            self.run(command)

    def activate(self, environment: str) -> None:
        """Does what `. ENVIRONMENT/bin/activate` does."""
        self.env["PATH"] = f"{self.folder / environment / 'bin'}:{self.env['PATH']}"

    def run(self, command: str) -> str:
        """Runs a command to its end, and returns what it printed; raises if it fails."""
        print(f"$ {command}", flush=True)
        begun = time.monotonic()
        done = subprocess.run(
            ["bash", "-ec", command],
            cwd=self.folder,
            env=self.env,
            check=False,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=COMMAND_SECONDS,
        )
        print(_end_of(done.stdout), f"  {time.monotonic() - begun:.0f} s", sep="\n", flush=True)
        if done.returncode:
            raise RuntimeError(f"{command!r} ended with status {done.returncode}: {done.stdout}")
        return done.stdout

    def start(self, command: str, ready: str = "") -> Background:
        """Starts a command beside others, and waits until it has printed `ready`; it is stopped at the end."""
        print(f"$ {command} &", flush=True)
        log = self.folder / f"background-{time.monotonic_ns()}.log"
        with log.open("w") as output:
            process = subprocess.Popen(
                ["bash", "-c", f"exec {command}"],
                cwd=self.folder,
                env=self.env,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        started = Background(process, log)
        self._running.callback(started.stop)
        started.wait_for(ready)
        return started


def _end_of(text: str) -> str:
    return "\n".join(f"  {line}" for line in text.splitlines()[-4:])
