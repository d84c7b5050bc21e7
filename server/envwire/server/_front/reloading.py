"""Replaces the fork server after an edit, so that new sessions get the edited code: `envwire serve --dev`."""

from __future__ import annotations

import asyncio
import logging
import os

from envwire.codec import FaultError, Reason
from envwire.server._front.sessions.table import Sessions
from envwire.server._processes.edits import SourceFiles
from envwire.server._processes.forkserver_start import ForkserverError
from envwire.server._processes.groups.group import Group

_log = logging.getLogger("envwire.server")

_LOOK_SECONDS = 0.5


class Reloading:
    """Looks for edits before each Make, and every half a second so that the log tells of them at once.

    Args:
        group: Its fork server is replaced after an edit, and what it loaded brought up to date.
        sessions: Those there are keep the code that they began with.
    """

    def __init__(self, group: Group, sessions: Sessions) -> None:
        self._forkserver = group.forkserver
        self._loaded = group.loaded
        self._sessions = sessions
        self._files = SourceFiles(group.loaded.files)
        self._broken = ""
        self._reloading: asyncio.Task[None] | None = None
        self._watching = asyncio.ensure_future(self._watch())

    async def refresh(self) -> None:
        """Loads the environments again if their files were edited, or could not be imported the last time.

        Raises:
            FaultError: ENVIRONMENT_RAISED: a module cannot be imported as it is now.
        """
        await self._bring_up_to_date(again=bool(self._broken))
        if self._broken:
            raise FaultError(
                Reason.ENVIRONMENT_RAISED,
                f"the server imports its environments again after an edit, and cannot: {self._broken}",
            )

    async def stop(self) -> None:
        """Looks no more, and gives up a reload under way."""
        self._watching.cancel()
        if self._reloading is not None:
            self._reloading.cancel()
            await asyncio.wait({self._reloading})

    async def _watch(self) -> None:
        while True:
            await asyncio.sleep(_LOOK_SECONDS)
            await self._bring_up_to_date()

    async def _bring_up_to_date(self, *, again: bool = False) -> None:
        while self._reloading is not None and not self._reloading.done():
            await asyncio.wait({self._reloading})
        if again or self._files.edited():
            # A client that does not wait for it must not leave it half done.
            self._reloading = asyncio.ensure_future(self._reload())
            await asyncio.shield(self._reloading)

    async def _reload(self) -> None:
        edited = ", ".join(map(os.path.relpath, self._files.edited())) or "another file"
        files = SourceFiles(self._loaded.files)  # a file that is edited meanwhile is edited again
        try:
            loaded = await self._forkserver.reload()
        except (ForkserverError, OSError) as error:
            if str(error) != self._broken:
                _log.error("%s was edited; nothing is made until it is mended:\n%s", edited, error)
            self._files, self._broken = files, str(error)
            return
        self._loaded.update(loaded)
        self._files, self._broken = files.including(loaded.files), ""
        _log.info(
            "%s was edited: new sessions get the edited code, and %d go on with what they began with",
            edited,
            len(self._sessions),
        )
