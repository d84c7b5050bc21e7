"""Pictures of sessions, taken while somebody watches, twice a second at most and for all watchers at once."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator

from envwire.codec import FaultError
from envwire.server._front.sessions.record import SessionRecord
from envwire.server._ipc.pictures import Picture

#: Time between two pictures. One that takes long to render gets more: rendering has a tenth of a session's time.
_PAUSE_SECONDS, _SHARE = 0.5, 10
#: Longest pause, whatever a process says that a picture took.
_LONGEST_SECONDS = 60.0


class _Camera:
    """Takes pictures of one session for all who watch it."""

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
                self._next.exception()  # it is nobody's fault when nobody waits
                return
            taken, self._next = self._next, asyncio.get_running_loop().create_future()
            taken.set_result(picture)
            pause = max(_PAUSE_SECONDS, _SHARE * picture.seconds)
            await asyncio.sleep(min(pause, _LONGEST_SECONDS))

    async def next(self) -> Picture:
        """Returns the next picture."""
        return await asyncio.shield(self._next)


class Cameras:
    """The cameras of the sessions that are watched."""

    def __init__(self) -> None:
        self._cameras: dict[str, _Camera] = {}

    async def watch(self, session: SessionRecord) -> AsyncGenerator[Picture]:
        """Yields pictures of a session; whoever takes one late misses some.

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
