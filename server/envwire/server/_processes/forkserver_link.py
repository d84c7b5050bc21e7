"""The front's connection to the fork server.

Session processes whose fork server is gone keep running. The front becomes their parent, if it inherits orphans; it
learns how they end and kills what they leave behind, as their fork server did.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import os
import socket
from collections.abc import Callable, Generator, Mapping, Sequence
from itertools import count

from envwire.server._grammar import counted
from envwire.server._ipc.frames import PACKET_BYTES, FrameError
from envwire.server._ipc.orphans import inherited, kill, parent, reap
from envwire.server._processes.forkserver_start import (
    START_SECONDS,
    ForkError,
    ForkserverLostError,
    ForkserverProcess,
    Lifelines,
    Loaded,
    OnExit,
    PendingFork,
)
from envwire.server._processes.interpreter import Interpreter
from envwire.server.config import ServerConfig

#: Seconds between two checks. A check takes 0.2 ms, and there are none until a fork server is lost.
_POLL_SECONDS = 0.1


class Adopted:
    """Watches the children that the front did not start itself, until there are none.

    Attributes:
        copying: How many sessions are about to fork themselves: a copy must not be killed as an orphan.
    """

    def __init__(self) -> None:
        self.copying = 0
        self._on_exit: dict[int, Callable[[int], None]] = {}
        self._next: asyncio.TimerHandle | None = None

    def __contains__(self, pid: int) -> bool:
        return pid in self._on_exit

    def take(self, sessions: Mapping[int, Callable[[int], None]]) -> None:
        """Adopts sessions whose fork server has ended; each callback gets its session's exit status."""
        self._on_exit.update(sessions)
        if self._next is None:
            self._check()

    def stop(self) -> None:
        """Kills the processes that are left."""
        if self._next is not None:
            self._next.cancel()
            self._next = None
            kill(inherited())

    def _check(self) -> None:
        found = inherited()
        if not self.copying:
            kill(found - self._on_exit.keys())
        for pid in found:
            reaped = reap(os.P_PID, pid)
            if reaped and (on_exit := self._on_exit.pop(pid, None)):
                on_exit(reaped[1])
        # If the front is not their parent, their exit status is lost.
        self._on_exit = {pid: told for pid, told in self._on_exit.items() if pid in found}
        loop = asyncio.get_running_loop()
        self._next = loop.call_later(_POLL_SECONDS, self._check) if found else None


_log = logging.getLogger("envwire.server")

#: Longest time for a fork, in seconds. It takes milliseconds; a fork server that takes longer is killed.
_FORK_SECONDS = 10.0
#: How many times as long as the last start the next one may take, and the time of a fork besides.
_SLOWER = 10.0


class ForkserverLink:
    """Starts the fork server, requests forks, and receives the exit status of each process.

    Args:
        config: The settings of its sessions.

    Attributes:
        interpreter: The interpreter that runs it.
        lifelines: By which its sessions end.
    """

    def __init__(self, config: ServerConfig) -> None:
        self._config = config
        self.interpreter = Interpreter(config)
        self.lifelines = Lifelines()
        self._adopted = Adopted()
        self._started = False
        self._stopped = False
        self._forks: dict[int, PendingFork] = {}
        self._checks: dict[int, asyncio.Future[bool]] = {}
        self._numbers = count(1)
        self._on_exit: dict[int, OnExit] = {}
        self._turn = asyncio.Lock()
        self._process: ForkserverProcess | None = None
        self._starting: asyncio.Task[None] | None = None
        self._burial: asyncio.Task[None] | None = None
        self._start_seconds = START_SECONDS

    async def start(self) -> Loaded:
        """Starts the process and waits until it has imported everything.

        Raises:
            ForkserverError: An id is unknown, a module cannot be imported, or the interpreter is unsuitable.
        """
        if not self._started:
            await asyncio.to_thread(self.interpreter.check)
        clock = asyncio.get_running_loop().time
        began = clock()
        loaded = await self._launch(self._start_seconds)
        self._started = True
        self._start_seconds = min(START_SECONDS, _FORK_SECONDS + _SLOWER * (clock() - began))
        return loaded

    async def reload(self) -> Loaded:
        """Replaces the fork server by one that imports the modules anew; existing sessions live on.

        Raises:
            ForkserverError: A module cannot be imported; the old fork server stays.
        """
        async with self._turn:
            loaded = await self._launch()
            if self._burial is not None:
                await self._burial
            return loaded

    async def _launch(self, seconds: float = START_SECONDS) -> Loaded:
        """Starts a process in place of the present one, if there is one."""
        # What environments left on the disk meanwhile must not read secrets.
        command = self.interpreter.command(confined=self._started)
        process = ForkserverProcess(*command)
        try:
            loaded = await process.load(self._config, seconds)
            if text := _threads_text(loaded.threads, self._config.start):
                _log.warning("the fork server: %s", text)
        except BaseException:
            self._burial = asyncio.ensure_future(process.end())
            raise
        if self._process is not None:
            self._process.kill()  # one that ends in order takes its sessions with it
        self._lose()
        self._process = process
        asyncio.get_running_loop().add_reader(process.control, self._hear, process.control)
        return loaded

    @contextlib.contextmanager
    def copying(self) -> Generator[None]:
        """Announces that a session process is about to fork itself, so that the copy is not killed as an orphan."""
        self._tell({"copying": 1})
        self._adopted.copying += 1
        try:
            yield
        finally:
            self._tell({"copying": -1})
            self._adopted.copying -= 1

    async def adopt(self, pid: int, on_exit: OnExit) -> None:
        """Registers a process that a session forked from itself, which is now a child of that session's parent.

        The front kills the processes of sessions, and the pid comes from one of them: it is not trusted.

        Raises:
            ForkError: It is gone already.
            FrameError: It is not such a process, or that of another session.
        """
        orphaned = self._check_copy(pid)
        if pending := [fork.pid for fork in self._forks.values()]:
            await asyncio.wait(pending)  # the process may be one of these
            orphaned = self._check_copy(pid)
        if orphaned:
            self._adopted.take({pid: on_exit})
            return
        self._on_exit[pid] = on_exit
        self._tell({"adopt": pid})

    def _check_copy(self, pid: int) -> bool:
        """Checks that a process can be a new copy; returns whether it is the front's child, as its fork server is gone.

        Raises:
            ForkError: It is gone already.
            FrameError: It is no child of the fork server or the front, or is known as another session's.
        """
        if not (its_parent := parent(pid)):
            raise ForkError(f"the copy, process {pid}, is gone")
        orphaned = pid in inherited()
        ours = orphaned or (self._process is not None and its_parent == self._process.pid)
        if not ours or pid in self._on_exit or pid in self._adopted:
            raise FrameError(f"process {pid} as its copy, which it is not")
        return orphaned

    def _tell(self, message: dict[str, int]) -> None:
        if self._process is not None:
            with contextlib.suppress(OSError):  # it is gone; the next read will notice
                self._process.control.send(json.dumps(message).encode())

    async def fork(self, descriptors: Sequence[int], on_exit: OnExit) -> int:
        """Forks a session process and returns its pid.

        Args:
            descriptors: Link, output, control socket and scoreboard of the process; the caller keeps ownership.
            on_exit: Called with the process's exit status.

        Raises:
            ForkError: The system is out of processes, memory or files.
            ForkserverLostError: The fork server is gone. It may have forked: a retry must use new descriptors.
            ForkserverError: No new fork server could be started.
        """
        async with self._turn:  # one at a time: the packet socket has a short queue
            await self._revive()
            with self.lifelines.opened(on_exit) as (lifeline, on_end):
                return await self._fork([*descriptors, lifeline], on_end)

    async def _fork(self, descriptors: list[int], on_exit: OnExit) -> int:
        if self._process is None:
            raise ForkError("the server is stopping")
        number = next(self._numbers)
        packet = json.dumps({"fork": number}).encode()
        try:
            socket.send_fds(self._process.control, [packet], descriptors)
        except (BrokenPipeError, ConnectionResetError) as error:
            self._lose()
            raise ForkserverLostError("the fork server is gone") from error
        # The timer runs even if the caller stops waiting earlier.
        overdue = asyncio.get_running_loop().call_later(_FORK_SECONDS, self._give_up)
        fork = self._forks[number] = PendingFork(on_exit, overdue)
        return await fork.pid

    async def is_current(self, pid: int) -> bool:
        """Returns whether a process that was forked earlier is like one that would be forked now.

        It is not if the fork server was replaced since, or what confines processes changed: file systems, directories.
        """
        async with self._turn:
            if self._process is None:
                return False
            answer: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
            self._checks[pid] = answer
            self._tell({"check": pid})
            await asyncio.wait({answer}, timeout=_FORK_SECONDS)
            if not answer.done():
                self._give_up()
            return answer.result()

    def _give_up(self) -> None:
        """Kills a fork server that does not answer because it was stopped or hangs in the kernel."""
        _log.warning("the fork server did not fork within %g s and was killed", _FORK_SECONDS)
        if self._process is not None:
            self._process.kill()
        self._lose()

    async def _revive(self) -> None:
        """Starts a new fork server if the last one is gone; the sessions that it forked live on."""
        if self._process is not None or self._stopped:
            return
        if self._starting is None or self._starting.done():
            self._starting = asyncio.ensure_future(self._start_another())
        # A client that stops waiting must not cancel the start.
        await asyncio.shield(self._starting)

    async def _start_another(self) -> None:
        _log.warning("the fork server is gone; starting another one")
        if self._burial is not None:
            await self._burial
        await self.start()

    async def _bury(self, process: ForkserverProcess) -> None:
        """Waits until a fork server has ended, then adopts its sessions."""
        await process.end()
        sessions, self._on_exit = self._on_exit, {}
        if not self._stopped:
            self._adopted.take(sessions)

    def _hear(self, control: socket.socket) -> None:
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
            if on_exit := self._on_exit.pop(message["exited"], None):
                on_exit(message["status"])
        elif "checked" in message:
            _settle(self._checks.pop(message["checked"], None), message["current"])
        elif "failed" in message:
            self._forks.pop(message["failed"]).settle(ForkError(f"cannot fork: {message['error']}"))
        else:
            fork, pid = self._forks.pop(message["forked"]), message["pid"]
            self._on_exit[pid] = fork.on_exit
            fork.settle(pid)

    def _lose(self) -> None:
        while self._forks:
            self._forks.popitem()[1].settle(ForkserverLostError("the fork server is gone"))
        while self._checks:
            _settle(self._checks.popitem()[1], False)
        if self._process is not None:
            process, self._process = self._process, None
            asyncio.get_running_loop().remove_reader(process.control)
            self._burial = asyncio.ensure_future(self._bury(process))

    async def stop(self) -> None:
        """Ends the fork server and, by closing their lifelines, all remaining sessions."""
        self._stopped = True
        if self._starting is not None:
            self._starting.cancel()
            await asyncio.wait({self._starting})
        self._lose()
        self.lifelines.close()
        if self._burial is not None:
            await self._burial
        self._adopted.stop()


def _settle(check: asyncio.Future[bool] | None, outcome: bool) -> None:
    if check is not None and not check.done():
        check.set_result(outcome)


#: What follows from threads in the fork server, by the setting `start`.
_THREADS_MEAN = {
    "auto": "so each environment's process is a new interpreter, which imports its modules again",
    "fork": "and environments that need them or their locks hang: --start fork forks all the same",
}


def _threads_text(threads: Mapping[str, int], start: str) -> str:
    """Describes threads that modules left running in the fork server; "" if they do not matter."""
    if not threads or start not in _THREADS_MEAN:
        return ""
    started = ", ".join(
        f"{module} started {counted(count, 'thread')}" for module, count in threads.items()
    )
    return f"{started} when imported, which a fork would lose, {_THREADS_MEAN[start]}"
