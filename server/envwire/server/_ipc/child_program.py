"""Starts this package's helper programs, which read their settings from standard input and answer with one line.

It avoids the event loop's subprocess functions: uvloop's run gRPC's fork handlers, which ended the child (gRPC 1.75).
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from typing import Any

from envwire.server._ipc.orphans import children

#: Beginning of the line by which a program says that it serves.
READY = "ready: "
#: Seconds for the further lines of a program that says why it does not start.
_REST_SECONDS = 5.0


class ChildProgram:
    """A program of this package, in a process and session of its own so that Ctrl-C does not reach it.

    Args:
        module: The module to run.

    Attributes:
        pid: Its process id.
    """

    def __init__(self, module: str) -> None:
        self._process = subprocess.Popen(  # noqa: S603 - our own program
            [sys.executable, "-m", module],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,
        )
        self.pid = self._process.pid
        self._answers: asyncio.ReadTransport | None = None
        self._reader: asyncio.StreamReader | None = None

    async def start(self, name: str, settings: str, seconds: float) -> str:
        """Sends the settings, waits until the program is ready, and returns what it says after "ready: ".

        Args:
            name: The program, for errors.
            settings: Its settings.
            seconds: Longest wait.

        Raises:
            OSError: It did not start; the message says why.
        """
        try:
            said = await self.introduce(settings, seconds)
        except TimeoutError:
            raise OSError(f"{name} did not start within {seconds:g} s") from None
        if not said.startswith(READY):
            said += await self._rest()
            raise OSError(said or f"{name} ended before it was ready; its output above says why")
        return said.removeprefix(READY)

    async def introduce(self, settings: str, seconds: float) -> str:
        """Sends the settings and returns the line that the program answers; empty if it has ended.

        Raises:
            TimeoutError: The program did not answer in time.
        """
        process = self._process
        if process.stdin is None or process.stdout is None:
            raise OSError(f"process {self.pid} has no pipes")
        with contextlib.suppress(BrokenPipeError):
            await asyncio.to_thread(process.stdin.write, settings.encode() + b"\n")
            process.stdin.flush()
        answers = self._reader = asyncio.StreamReader()
        self._answers, _ = await asyncio.get_running_loop().connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(answers), process.stdout
        )
        try:
            line = await asyncio.wait_for(answers.readline(), seconds)
        except asyncio.TimeoutError:
            raise TimeoutError from None
        return line.decode().strip()

    async def _rest(self) -> str:
        """Returns the further lines of a program that says why it ends."""
        if self._reader is None:
            return ""
        with contextlib.suppress(asyncio.TimeoutError):
            rest = await asyncio.wait_for(self._reader.read(), _REST_SECONDS)
            return "\n" * bool(rest) + rest.decode(errors="replace").rstrip()
        return ""

    async def wait(self) -> int:
        """Waits until the program ends; returns its exit status."""
        if self._process.poll() is None:
            await _readable(os.pidfd_open(self.pid))
        return self._process.wait()

    def terminate(self) -> None:
        """Sends SIGTERM."""
        self._process.terminate()

    def _kill(self) -> None:
        """Kills it, with its group, and lets its stopped children see that: a fork server then ends its sessions."""
        started = children(self.pid)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)
        for pid in started:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)

    def end_input(self) -> None:
        """Closes the program's standard input."""
        if self._process.stdin is not None:
            with contextlib.suppress(BrokenPipeError):
                self._process.stdin.close()

    async def stop(self, seconds: float) -> None:
        """Waits until the program ends, kills it and what it started after `seconds`, and closes the pipes."""
        try:
            await asyncio.wait_for(self.wait(), seconds)
        except asyncio.TimeoutError:
            self._kill()
            await self.wait()
        self.end_input()
        if self._answers is not None:
            self._answers.close()


def wait_or_kill(process: subprocess.Popen[Any], seconds: float) -> None:
    """Waits until a process is gone, and kills it when that takes long."""
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def at_end_of_input(callback: Callable[[], None]) -> None:
    """Calls back when standard input is closed; nothing more may be written to it."""
    loop, descriptor = asyncio.get_running_loop(), sys.stdin.fileno()

    def gone() -> None:
        loop.remove_reader(descriptor)
        callback()

    loop.add_reader(descriptor, gone)


async def _readable(descriptor: int) -> None:
    """Waits until a descriptor is readable, then closes it."""
    loop, ready = asyncio.get_running_loop(), asyncio.Event()
    loop.add_reader(descriptor, ready.set)
    try:
        await ready.wait()
    finally:
        loop.remove_reader(descriptor)
        os.close(descriptor)
