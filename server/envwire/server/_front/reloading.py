"""Replaces the fork server after an edit, so that new sessions get the edited code: `envwire serve --dev`.

Edits are detected by size and modification time, which takes 2 us per file.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Iterable

from envwire.codec import FaultError, Reason
from envwire.server._auth.reloading import stamp
from envwire.server._front.sessions.table import Sessions
from envwire.server._processes.environments import Environments
from envwire.server._processes.forkserver_start import ForkserverError

_log = logging.getLogger("envwire.server")

_POLL_SECONDS = 0.5

#: Source files with their state at import.
Stamps = dict[str, tuple[int, int, int] | None]


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

    def __init__(self, environments: Environments, sessions: Sessions) -> None:
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
