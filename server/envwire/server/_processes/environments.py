"""The environments of one server: their fork server, what clients may ask for, and the processes of their sessions.

`envwire serve --dev` replaces the fork server after an edit, so that new sessions get the edited code. Edits are
detected by size and modification time, which takes 2 us per file.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
from collections.abc import Awaitable, Callable, Iterable, Sized

from envwire.codec import FaultError, Reason
from envwire.server._auth.allow_list import AllowList
from envwire.server._auth.reloading import stamp
from envwire.server._processes.forkserver_link import ForkserverLink
from envwire.server._processes.forkserver_start import ForkserverError, ForkserverLostError, Loaded
from envwire.server._processes.process import Fork, Process
from envwire.server.config import ServerConfig

_log = logging.getLogger("envwire.server")

#: Fork servers that a Make may lose: one that was killed unnoticed, and the next one, which is stopped in its start.
_LOST_FORKSERVERS = 2
#: Seconds between two checks for edits.
_POLL_SECONDS = 0.5

#: Source files with their state at import.
Stamps = dict[str, tuple[int, int, int] | None]


class Environments:
    """What a server makes environments with.

    Args:
        config: The server's settings.

    Attributes:
        forkserver: Forks their processes.
        placement: Finds processes for sessions.
        allow_list: What clients may ask for.
        loaded: The environments that can be made, once started.

    Raises:
        ValueError: A rule for keyword arguments is invalid.
    """

    def __init__(self, config: ServerConfig) -> None:
        self.forkserver = ForkserverLink(config)
        # A new interpreter takes too much memory to wait for a Make.
        is_current = None if config.start == "spawn" else self.forkserver.is_current
        self.placement = Placement(config, self.forkserver.fork, is_current)
        self.allow_list = AllowList.of(config)
        self.loaded = Loaded()

    async def start(self) -> None:
        """Starts the fork server and waits until it has imported everything.

        Raises:
            ForkserverError: An id is unknown, a module cannot be imported, or the interpreter is unsuitable.
        """
        self.loaded = await self.forkserver.start()
        if self.loaded.not_held:
            _log.warning("%s. See docs/security.md", self.loaded.not_held)

    async def stop(self) -> None:
        """Ends the fork server and all remaining sessions."""
        self.placement.close()
        await self.forkserver.stop()


#: How long a process that was forked ahead waits for a Make.
_AHEAD_SECONDS = 10.0


class ForkedAhead:
    """A process that waits for the next Make, which takes half as long then. There is one at most, and not for long.

    Args:
        start: Starts a process.
        is_current: Returns whether one that waited is like one that would be forked now.
        seconds: How long it waits.
    """

    def __init__(
        self,
        start: Callable[[], Awaitable[Process]],
        is_current: Callable[[int], Awaitable[bool]],
        seconds: float = _AHEAD_SECONDS,
    ) -> None:
        self._start = start
        self._is_current = is_current
        self._seconds = seconds
        self._process: Process | None = None
        self._end: asyncio.TimerHandle | None = None
        self._starting: asyncio.Task[None] | None = None

    def begin(self) -> None:
        """Begins to start the process, unless it is there."""
        if self._starting is not None and not self._starting.done():
            return
        if self._process is None or not self._process.alive:
            self._end_process()
            self._starting = asyncio.ensure_future(self._fork())

    async def _fork(self) -> None:
        with contextlib.suppress(ForkserverError, OSError):  # the next Make tells its client why
            self._process = await self._start()
            self._end = asyncio.get_running_loop().call_later(self._seconds, self._end_process)

    async def take(self) -> Process | None:
        """Returns the process for a Make, if one is there."""
        if (process := self._taken()) is None:
            return None
        usable = False
        try:
            usable = await self._is_current(process.pid) and process.alive
        finally:
            if not usable:
                process.kill()
        return process if usable else None

    def _taken(self) -> Process | None:
        if self._end is not None:
            self._end.cancel()
        process, self._process = self._process, None
        return process

    def _end_process(self) -> None:
        if (process := self._taken()) is not None:
            process.kill()

    def close(self) -> None:
        """Ends the process. Closing twice is harmless."""
        if self._starting is not None:
            self._starting.cancel()
        self._end_process()


class Placement:
    """Finds processes for new sessions, and starts them.

    Only one Make at a time looks for a free slot, so that no more processes start than needed; forks run one by one
    anyway. The caller must open the process before it awaits anything else, or it may lose the slot.

    Args:
        config: The server's settings.
        fork: Forks a process.
        is_current: Returns whether a process that was forked earlier is like one that would be forked now; None if no
            process is forked ahead.
    """

    def __init__(
        self,
        config: ServerConfig,
        fork: Fork,
        is_current: Callable[[int], Awaitable[bool]] | None = None,
    ) -> None:
        self._config = config
        self._slots = config.sessions_per_process
        self._fork = fork
        self._shared: dict[Process, str] = {}
        self._ahead: ForkedAhead | None = None
        if is_current is not None and self._slots == 1:
            self._ahead = ForkedAhead(lambda: self.start(self._fork), is_current)
        self._turn = asyncio.Lock()

    async def find(self, client: str) -> Process:
        """Returns a process with a free slot, starting a new one if there is none.

        Args:
            client: The session's client. Different clients share a process only if the operator allows it.

        Raises:
            ForkserverError: No process could be forked.
            OSError: Too many files are open.
        """
        if self._ahead is not None and (process := await self._ahead.take()):
            return process
        if self._slots == 1:
            return await self.start(self._fork)
        async with self._turn:
            self._shared = {each: owner for each, owner in self._shared.items() if each.alive}
            for process, owner in self._shared.items():
                if process.free and (self._config.share_processes or owner == client):
                    return process
            process = await self.start(self._fork, self._slots)
            self._shared[process] = client
            return process

    async def fresh(self) -> Process:
        """Starts a process that belongs to no client yet; `find` does not return it.

        Raises:
            ForkserverError: No process could be forked.
            OSError: Too many files are open.
        """
        return await self.start(self._fork, self._slots)

    def give(self, process: Process, client: str) -> None:
        """Makes a process available to further sessions of the client whose first session it holds."""
        if self._slots > 1:
            self._shared[process] = client

    async def start(self, fork: Fork, slots: int = 1) -> Process:
        """Starts a process.

        Raises:
            FaultError: UNSUPPORTED: the process cannot copy itself.
            ForkserverError: No process could be forked, not even by a new fork server.
            OSError: Too many files are open.
        """
        for _ in range(_LOST_FORKSERVERS):
            # Nothing was made yet, so it is safe to retry.
            with contextlib.suppress(ForkserverLostError):
                return await Process.spawn(fork, slots, self._config.max_message_bytes)
        return await Process.spawn(fork, slots, self._config.max_message_bytes)

    def fork_ahead(self) -> None:
        """Begins to fork a process for the next Make, which is expected soon."""
        if self._ahead is not None:
            self._ahead.begin()

    def close(self) -> None:
        """Ends the process that was forked ahead. Closing twice is harmless."""
        if self._ahead is not None:
            self._ahead.close()


def stamps(files: Iterable[str], known: Stamps | None = None) -> Stamps:
    """Returns files with their present state, and files that are known already with their known one."""
    return {file: stamp(file) for file in files} | (known or {})


def changed(files: Stamps) -> list[str]:
    """Returns the files that changed since they were imported."""
    return [file for file, imported in files.items() if stamp(file) != imported]


class Reloading:
    """Checks for edits before each Make, and every half second so that the log reports them soon.

    Args:
        environments: The environments, whose fork server is replaced after an edit.
        sessions: The sessions, which keep the code that they began with.
    """

    def __init__(self, environments: Environments, sessions: Sized) -> None:
        self._forkserver = environments.forkserver
        self._loaded = environments.loaded
        self._sessions = sessions
        self._files = stamps(environments.loaded.files)
        self._broken = ""
        self._reloading: asyncio.Task[None] | None = None
        self._watching = asyncio.ensure_future(self._watch())

    async def refresh(self) -> None:
        """Reloads the environments if their files were edited, or the last import failed.

        Raises:
            FaultError: ENVIRONMENT_RAISED: a module cannot be imported.
        """
        await self._bring_up_to_date(again=bool(self._broken))
        if self._broken:
            raise FaultError(
                Reason.ENVIRONMENT_RAISED,
                f"the server imports its environments again after an edit, and cannot: {self._broken}",
            )

    async def stop(self) -> None:
        """Stops the checks, and cancels a reload in progress."""
        self._watching.cancel()
        if self._reloading is not None:
            self._reloading.cancel()
            await asyncio.wait({self._reloading})

    async def _watch(self) -> None:
        while True:
            await asyncio.sleep(_POLL_SECONDS)
            await self._bring_up_to_date()

    async def _bring_up_to_date(self, *, again: bool = False) -> None:
        while self._reloading is not None and not self._reloading.done():
            await asyncio.wait({self._reloading})
        if again or changed(self._files):
            # A separate task: a client that stops waiting must not cancel the reload.
            self._reloading = asyncio.ensure_future(self._reload())
            await asyncio.shield(self._reloading)

    async def _reload(self) -> None:
        edited = ", ".join(map(os.path.relpath, changed(self._files))) or "another file"
        files = stamps(self._loaded.files)  # notices edits during the reload
        try:
            loaded = await self._forkserver.reload()
        except (ForkserverError, OSError) as error:
            if str(error) != self._broken:
                _log.error("%s was edited; nothing is made until it is mended:\n%s", edited, error)
            self._files, self._broken = files, str(error)
            return
        self._loaded.update(loaded)
        self._files, self._broken = stamps(loaded.files, files), ""
        _log.info(
            "%s was edited: new sessions get the edited code, and %d go on with what they began with",
            edited,
            len(self._sessions),
        )
