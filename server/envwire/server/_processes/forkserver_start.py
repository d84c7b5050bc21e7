"""The fork server's process: its start, the list of its environments, and the forks that it is asked for."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import socket
import subprocess
from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from typing import BinaryIO

from envwire.server._ipc.child_program import wait_or_kill
from envwire.server._ipc.orphans import spared
from envwire.server._processes.endpoints import OutputTail
from envwire.server.config import ServerConfig
from envwire.v1 import environment_pb2 as pb

PROGRAM = "envwire.server._worker.main"
#: Confines itself before it becomes `PROGRAM`.
CONFINED_START = "envwire.server._worker.confined_start"
#: Seconds for importing and listing the environments.
START_SECONDS = 300.0
#: Seconds for the process to exit.
_LEAVE_SECONDS = 10.0

#: Called with a session process's exit status, negative for the signal that killed it.
OnExit = Callable[[int], None]


class ForkserverError(Exception):
    """The fork server could not load its environments, or cannot fork."""


class ForkError(ForkserverError):
    """The system is temporarily out of processes, memory or files."""


class ForkserverLostError(ForkserverError):
    """The fork server died, or was killed because it did not answer; the next fork starts a new one."""


@dataclass
class Loaded:
    """What a fork server has loaded.

    Attributes:
        environments: The environments that it can make.
        libraries: Their libraries, in the order in which ids are looked up.
        files: Source files of modules outside installed packages.
        threads: How many threads each module left running that started some when it was imported.
        not_held: What environments can do because of the kernel; "" for nothing.
        served: The environments as pairs (library, id).
        ids: Their ids.
    """

    environments: pb.ListEnvironmentsResponse = field(default_factory=pb.ListEnvironmentsResponse)
    libraries: list[pb.LibraryInfo] = field(default_factory=list[pb.LibraryInfo])
    files: list[str] = field(default_factory=list[str])
    threads: dict[str, int] = field(default_factory=dict[str, int])
    not_held: str = ""

    def __post_init__(self) -> None:
        listed = self.environments.environments
        self.served = frozenset((each.library, each.spec.id) for each in listed)
        self.ids = frozenset(env_id for _, env_id in self.served)

    def update(self, other: Loaded) -> None:
        """Takes over the contents of another fork server's."""
        vars(self).update(vars(other))


@dataclass(eq=False)
class PendingFork:
    """A fork that the fork server was asked for and has not answered yet.

    Attributes:
        on_exit: Called with the process's exit status.
        overdue: Timer that gives up the fork server.
        pid: Future of the process id.
    """

    on_exit: OnExit
    overdue: asyncio.TimerHandle

    def __post_init__(self) -> None:
        self.pid: asyncio.Future[int] = asyncio.get_running_loop().create_future()

    def settle(self, outcome: int | ForkserverError) -> None:
        """Completes the fork with its process id, or with the error that its caller gets."""
        self.overdue.cancel()
        if self.pid.done():  # the caller no longer waits
            return
        if isinstance(outcome, int):
            self.pid.set_result(outcome)
        else:
            self.pid.set_exception(outcome)


class ForkserverProcess:
    """The process of a fork server.

    Args:
        command: The interpreter and its arguments.
        variables: Its environment variables.

    Attributes:
        control: Our end of a packet socket to it.
        pid: Its process id.
    """

    def __init__(self, command: list[str], variables: dict[str, str]) -> None:
        self.control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        reading, output = os.pipe2(os.O_CLOEXEC)
        self._output = OutputTail(reading)
        self._output.follow(lambda: ("the fork server", {}))
        self._process = _new_process(
            [*command, str(theirs.fileno())], variables, theirs.fileno(), output
        )
        theirs.close()
        os.close(output)
        self.control.setblocking(False)
        self.pid = self._process.pid
        spared.add(self.pid)

    async def load(self, config: ServerConfig, seconds: float) -> Loaded:
        """Sends the process its settings, and waits until it has imported everything.

        Raises:
            ForkserverLostError: The process died, or was killed because it took longer than `seconds`.
            ForkserverError: An id is unknown, or a module cannot be imported.
        """
        overdue = asyncio.get_running_loop().call_later(seconds, self.kill)
        try:
            return await asyncio.to_thread(_introduce, self._process, config)
        except asyncio.CancelledError:
            self.kill()  # an import may never return
            raise
        except ForkserverLostError as error:
            output = self._output.text().strip()
            raise ForkserverLostError(f"{error}: {output}" if output else str(error)) from None
        finally:
            overdue.cancel()

    def kill(self) -> None:
        """Kills the process, but not its sessions."""
        self._process.kill()

    async def end(self) -> None:
        """Closes the socket and waits until the process has exited; kills it if that takes too long."""
        self.control.close()
        await asyncio.to_thread(wait_or_kill, self._process, _LEAVE_SECONDS)
        self._output.drain()
        spared.discard(self.pid)


def _new_process(
    command: list[str], variables: dict[str, str], control: int, output: int
) -> subprocess.Popen[bytes]:
    """Starts the program, which then waits for its settings."""
    # Not the event loop's subprocess functions: they fork, and run gRPC's fork handlers in a process that serves.
    return subprocess.Popen(  # noqa: S603 - our own program
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=output,
        pass_fds=[control],
        start_new_session=True,
        env=variables,
    )


def _introduce(process: subprocess.Popen[bytes], config: ServerConfig) -> Loaded:
    if process.stdin is None or process.stdout is None:
        raise ForkserverError("the fork server has no pipes")
    with process.stdout:
        with contextlib.suppress(BrokenPipeError), process.stdin:
            process.stdin.write(config.to_json().encode())
        answer = process.stdout.read()
    head, _, listing = answer.partition(b"\n")
    if not head:
        raise ForkserverLostError("the process that loads the environments ended")
    header = json.loads(head)
    if "error" in header:
        raise ForkserverError(header["error"])
    environments = pb.ListEnvironmentsResponse.FromString(listing)
    libraries = [
        pb.LibraryInfo(name=name, version=version) for name, version in header["libraries"]
    ]
    return Loaded(environments, libraries, header["files"], header["threads"], header["not_held"])


class Lifelines:
    """The pipes of the processes that one fork server started.

    Each process has its own. Whoever has one end of a pipe can open the other, and a byte in it kills as its end does:
    with a pipe for all, an environment could end the sessions of others.
    """

    def __init__(self) -> None:
        self._ends: set[BinaryIO] = set()
        self._closed = False

    @contextlib.contextmanager
    def opened(self, on_exit: OnExit) -> Generator[tuple[int, OnExit]]:
        """Opens the pipe of a process that is forked inside the `with` block.

        Args:
            on_exit: Called with the process's exit status.

        Yields:
            The process's descriptor, which is closed here when the block ends, and what to call with its exit status.

        Raises:
            ForkError: The server is stopping.
            OSError: Too many files are open.
        """
        if self._closed:
            raise ForkError("the server is stopping")
        theirs, ours = os.pipe2(os.O_CLOEXEC)
        end = os.fdopen(ours, "wb", buffering=0)
        self._ends.add(end)

        def on_end(status: int) -> None:
            self._close(end)
            on_exit(status)

        try:
            yield theirs, on_end
        except BaseException:
            self._close(end)
            raise
        finally:
            os.close(theirs)

    def _close(self, end: BinaryIO) -> None:
        self._ends.discard(end)
        end.close()

    def close(self) -> None:
        """Kills the processes that are left; no others can be started."""
        self._closed = True
        for end in list(self._ends):
            self._close(end)
