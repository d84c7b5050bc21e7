"""Takes pictures of sessions while somebody watches: at most two per second, shared by all watchers."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator

from envwire.codec import FaultError
from envwire.server._front.sessions.record import SessionRecord
from envwire.server._ipc.pictures import Picture

#: Seconds between two pictures, or if longer, this multiple of the rendering time, so that rendering takes a tenth of a
#: session's time.
_PAUSE_SECONDS, _SHARE = 0.5, 10
#: Longest pause in seconds, whatever rendering time a process reports.
_MAX_PAUSE_SECONDS = 60.0


class _Camera:
    """Takes pictures of one session for all its watchers."""

    def __init__(self, session: SessionRecord) -> None:
        self.watchers = 0
        self._next: asyncio.Future[Picture] = asyncio.get_running_loop().create_future()
        self.task = asyncio.ensure_future(self._run(session))

    async def _run(self, session: SessionRecord) -> None:
        while True:
            try:
                picture = await session.render()
            except FaultError as fault:
                self._next.set_exception(fault)
                self._next.exception()  # marks it as retrieved: maybe nobody waits
                return
            taken, self._next = self._next, asyncio.get_running_loop().create_future()
            taken.set_result(picture)
            pause = max(_PAUSE_SECONDS, _SHARE * picture.seconds)
            await asyncio.sleep(min(pause, _MAX_PAUSE_SECONDS))

    async def next(self) -> Picture:
        """Returns the next picture."""
        return await asyncio.shield(self._next)


class Cameras:
    """The cameras of all watched sessions."""

    def __init__(self) -> None:
        self._cameras: dict[str, _Camera] = {}

    async def watch(self, session: SessionRecord) -> AsyncGenerator[Picture]:
        """Yields pictures of a session; a slow watcher misses some.

        Raises:
            FaultError: The session has ended.
        """
        camera = self._cameras.get(session.id)
        if camera is None:
            camera = self._cameras[session.id] = _Camera(session)
        camera.watchers += 1
        try:
            while True:
                yield await camera.next()
        finally:
            camera.watchers -= 1
            if not camera.watchers:
                self._cameras.pop(session.id, None)
                camera.task.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await camera.task
