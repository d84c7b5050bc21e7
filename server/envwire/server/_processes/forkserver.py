"""The front's connection to the fork server."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import os
import socket
import subprocess
import sys
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field

from envwire.server._ipc.bounds import PACKET_BYTES
from envwire.server.config import ServerConfig
from envwire.v1 import environment_pb2

_log = logging.getLogger("envwire.server")

_PROGRAM = "envwire.server._worker.forkserver_main"
_FORK_SECONDS = 10.0


#: Called with a session's exit status; negative: the signal that killed it.
OnExit = Callable[[int], None]


class ForkserverError(Exception):
    """The fork server could not load what it shall serve, or cannot fork."""


class ForkError(ForkserverError):
    """The system has no process, memory or file to give at the moment."""


@dataclass
class Loaded:
    """What the fork server has to offer."""

    environments: environment_pb2.ListEnvironmentsResponse
    libraries: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])


class ForkserverLink:
    """Starts the fork server, asks it for forks and hears how they ended.

    Args:
        config: The server's settings.
    """

    def __init__(self, config: ServerConfig) -> None:
        self._config = config
        self._control: socket.socket | None = None
        self._lifeline: tuple[int, int] | None = None
        self._stopped = False
        self._forks: dict[int, tuple[asyncio.Future[int], OnExit]] = {}
        self._on_exit: dict[int, OnExit] = {}
        self._number = 0
        self._turn = asyncio.Lock()
        self._process: subprocess.Popen[bytes] | None = None

    async def start(self) -> Loaded:
        """Starts the process and waits until it has imported everything.

        Raises:
            ForkserverError: An id is unknown, or a module cannot be imported.
        """
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        if self._lifeline is None:
            self._lifeline = os.pipe2(os.O_CLOEXEC)
        lifeline = self._lifeline[0]
        # Not the event loop's own way: that forks, and runs gRPC's fork handlers in a process that serves.
        process = subprocess.Popen(  # noqa: S603 - our own program
            [sys.executable, "-m", _PROGRAM, str(theirs.fileno()), str(lifeline)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            pass_fds=(theirs.fileno(), lifeline),
            start_new_session=True,
        )
        theirs.close()
        self._process = process
        loaded = await asyncio.to_thread(self._introduce, process)
        self._listen(ours)
        return loaded

    def _introduce(self, process: subprocess.Popen[bytes]) -> Loaded:
        """Tells the new process what to load and reads what it found."""
        if process.stdin is None or process.stdout is None:
            raise ForkserverError("the fork server has no pipes")
        with process.stdout:
            with contextlib.suppress(BrokenPipeError), process.stdin:
                process.stdin.write(self._config.to_json().encode())
            answer = process.stdout.read()
        head, _, listing = answer.partition(b"\n")
        if not head:
            raise ForkserverError(
                "the process that loads the environments ended; its output says why"
            )
        header = json.loads(head)
        if "error" in header:
            raise ForkserverError(header["error"])
        environments = environment_pb2.ListEnvironmentsResponse.FromString(listing)
        return Loaded(environments, [(name, version) for name, version in header["libraries"]])

    def _listen(self, control: socket.socket) -> None:
        control.setblocking(False)
        self._control = control
        asyncio.get_running_loop().add_reader(control, self._hear)

    @property
    def lifeline(self) -> int:
        """The descriptor that closes when the front is gone."""
        if self._lifeline is None:
            raise ForkError("the server is stopping")
        return self._lifeline[0]

    @contextlib.contextmanager
    def copying(self) -> Generator[None]:
        """Announces that a session's process is about to fork itself: the copy is no orphan, to be killed."""
        self._tell({"copying": 1})
        try:
            yield
        finally:
            self._tell({"copying": -1})

    def adopt(self, pid: int, on_exit: OnExit) -> None:
        """Takes a process that a session forked of itself, whose parent is the fork server now."""
        self._on_exit[pid] = on_exit
        self._tell({"adopt": pid})

    def _tell(self, message: dict[str, int]) -> None:
        if self._control is not None:
            with contextlib.suppress(OSError):  # it is gone, as the next read says
                self._control.send(json.dumps(message).encode())

    async def fork(self, descriptors: Sequence[int], on_exit: OnExit) -> int:
        """Forks a session process and returns its number.

        Args:
            descriptors: Link, output, control socket and scoreboard of the process; they stay the caller's.
            on_exit: Called with the status with which the process ended.

        Raises:
            ForkserverError: The fork server is gone or does not answer.
        """
        async with self._turn:  # one at a time: the socket of packets holds only so many
            await self._revive()
            return await self._fork(descriptors, on_exit)

    async def _fork(self, descriptors: Sequence[int], on_exit: OnExit) -> int:
        self._number += 1
        number = self._number
        future: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._forks[number] = (future, on_exit)
        try:
            if self._control is None:
                raise ForkserverError("the fork server is gone")
            packet = json.dumps({"fork": number}).encode()
            socket.send_fds(self._control, [packet], list(descriptors))
            return await asyncio.wait_for(future, _FORK_SECONDS)
        except (OSError, asyncio.TimeoutError) as error:
            raise ForkserverError(f"the fork server does not fork: {error!r}") from error

    async def _revive(self) -> None:
        """Starts another fork server when the last one was killed; the sessions that it forked live on."""
        if self._control is None and not self._stopped:
            _log.warning("the fork server is gone; starting another one")
            await self.start()

    def _hear(self) -> None:
        control = self._control
        if control is None:
            return
        try:
            packet = control.recv(PACKET_BYTES)
        except BlockingIOError:
            return
        except OSError:
            packet = b""
        if not packet:
            self._lose()
            return
        message = json.loads(packet)
        if "exited" in message:
            self._hear_exit(message["exited"], message["status"])
        elif "failed" in message:
            self._hear_failure(message["failed"], message["error"])
        else:
            self._hear_fork(message["forked"], message["pid"])

    def _hear_exit(self, pid: int, status: int) -> None:
        if on_exit := self._on_exit.pop(pid, None):
            on_exit(status)

    def _hear_fork(self, number: int, pid: int) -> None:
        future, on_exit = self._forks.pop(number)
        self._on_exit[pid] = on_exit
        if not future.done():
            future.set_result(pid)

    def _hear_failure(self, number: int, why: str) -> None:
        future, _ = self._forks.pop(number)
        if not future.done():
            future.set_exception(ForkError(f"cannot fork: {why}"))

    def _lose(self) -> None:
        if self._control is not None:
            asyncio.get_running_loop().remove_reader(self._control)
            self._control.close()
            self._control = None
        while self._forks:
            _, (future, _) = self._forks.popitem()
            if not future.done():
                future.set_exception(ForkserverError("the fork server is gone"))

    async def stop(self) -> None:
        """Ends the fork server, and with the lifeline whatever session is left."""
        self._stopped = True
        self._lose()
        if self._lifeline is not None:
            for descriptor in self._lifeline:
                os.close(descriptor)
            self._lifeline = None
        if self._process is not None:
            process, self._process = self._process, None
            await asyncio.to_thread(_wait_or_kill, process)


def _wait_or_kill(process: subprocess.Popen[bytes]) -> None:
    try:
        process.wait(_FORK_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
