"""Serves envwire.observe.v1: the status of a server, details of a session, and pictures of it.

Pictures are taken while somebody watches: at most two per second, shared by all watchers.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import resource
import time
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import aclosing, contextmanager
from pathlib import Path
from typing import Final

from envwire.codec import FaultError, Reason
from envwire.codec.messages import to_seconds
from envwire.observe.v1 import observe_pb2 as pb
from envwire.server._auth.client import Client
from envwire.server._auth.scopes import Scope
from envwire.server._front.makes.admission import Admission
from envwire.server._front.observed_status import (
    Ended,
    History,
    Rounds,
    session_counters,
    session_status,
    timeline,
)
from envwire.server._front.sessions.record import SessionRecord
from envwire.server._front.sessions.table import Sessions
from envwire.server._ipc.frames import Picture
from envwire.server.config import ServerConfig
from envwire.wire.version import VERSION

#: Seconds between two pictures, or if longer, this multiple of the rendering time, so that rendering takes a tenth of a
#: session's time.
_PAUSE_SECONDS, _RENDERING_SHARE = 0.5, 10
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
            pause = max(_PAUSE_SECONDS, _RENDERING_SHARE * picture.seconds)
            await asyncio.sleep(min(pause, _MAX_PAUSE_SECONDS))

    async def next(self) -> Picture:
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


class Audience:
    """Watchers of one kind.

    Args:
        most: Largest number of watchers.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._count = 0

    @contextmanager
    def joined(self) -> Generator[None]:
        """Counts a watcher while it watches.

        Raises:
            FaultError: CAPACITY_REACHED: there are too many watchers.
        """
        if self._count >= self._most:
            raise FaultError(
                Reason.CAPACITY_REACHED,
                f"{self._most} watch already, all that may; try again later",
                retry_after=1.0,
            )
        self._count += 1
        try:
            yield
        finally:
            self._count -= 1


#: Most watchers of the server, and of pictures. Each holds at most one message: 100 kB, or a picture of 300 kB.
MAX_WATCHERS: Final = 32
MAX_PICTURE_WATCHERS: Final = 64
_PERIOD_SECONDS, _MIN_PERIOD, _MAX_PERIOD = 1.0, 0.2, 60.0
#: A round may take one part in this many of the front's time; with many sessions the period grows.
_SHARE = 20

#: Identifies the caller anew, since its token may have been revoked during the call.
Identify = Callable[[], Client]


class ObserveService:
    """Serves watchers.

    Args:
        config: The server's settings.
        sessions: Its sessions.
        admission: Knows how many clients wait for a free slot.
    """

    def __init__(self, config: ServerConfig, sessions: Sessions, admission: Admission) -> None:
        self._config = config
        self._sessions = sessions
        self._admission = admission
        self._began = sessions.clock()
        self._history = History(self._began)
        sessions.on_end = self._history.note
        self._cameras = Cameras()
        self._watchers = Audience(MAX_WATCHERS)
        self._picture_watchers = Audience(MAX_PICTURE_WATCHERS)

    async def watch(self, raw: bytes, identify: Identify) -> AsyncGenerator[pb.WatchResponse]:
        """Yields the server's status, round after round."""
        period = _period(pb.WatchRequest.FromString(raw))
        rounds = Rounds(
            self._sessions, self._history, self._status, self._began, self._config.frames
        )
        with self._watchers.joined():
            while True:
                spent = 0.0
                messages = rounds.next(_sees(identify()))
                while True:
                    begun = time.perf_counter()
                    message = next(messages, None)
                    spent += time.perf_counter() - begun
                    if message is None:
                        break
                    yield message
                await asyncio.sleep(max(period, _SHARE * spent))

    async def describe_session(self, raw: bytes, client: Client) -> pb.DescribeSessionResponse:
        """Returns all details of a session."""
        session_id = pb.DescribeSessionRequest.FromString(raw).session_id
        found = self._find(session_id)
        everybody = self._check_theirs(client, found)
        withheld = self._config.share_processes and not everybody
        response = pb.DescribeSessionResponse(output_withheld=withheld)
        if isinstance(found, SessionRecord):
            status = session_status(found, self._began, self._config.frames)
            response.session.CopyFrom(status)
            events = timeline(found)
        else:
            response.end.CopyFrom(found.summary)
            response.last.CopyFrom(session_counters(found.last))
            events = found.events
            if found.exit_status.lstrip("-").isdigit():
                response.exit_status = int(found.exit_status)
        if not withheld:
            response.output = found.output
        response.events.extend(
            pb.SessionEvent(at=at - self._began, text=text) for at, text in events
        )
        response.episodes.extend(
            pb.Episode(ended=ended / 1e9 - self._began, total=total, length=length)
            for total, length, ended in found.episodes
        )
        if found.picture is not None:
            response.last_frame.CopyFrom(_frame(found.picture))
        return response

    async def watch_frames(
        self, raw: bytes, identify: Identify
    ) -> AsyncGenerator[pb.WatchFramesResponse]:
        """Yields pictures of a session."""
        session = self._find(pb.WatchFramesRequest.FromString(raw).session_id)
        self._check_theirs(identify(), session)
        self._check_pictures(session)
        if isinstance(session, Ended):
            raise FaultError(Reason(session.summary.reason), session.summary.message)
        with self._picture_watchers.joined():
            async with aclosing(self._cameras.watch(session)) as pictures:
                async for picture in pictures:
                    self._check_theirs(identify(), session)
                    if picture.rgb:
                        yield pb.WatchFramesResponse(frame=_frame(picture))
                    else:
                        yield pb.WatchFramesResponse(unavailable=picture.reason)

    def _find(self, session_id: str) -> SessionRecord | Ended:
        found = self._sessions.get(session_id) or self._history.get(session_id)
        if found is None:
            raise self._sessions.unknown(session_id, remedy="")
        return found

    def _check_theirs(self, client: Client, session: SessionRecord | Ended) -> bool:
        """Checks that a client may watch a session; returns whether it may watch all sessions.

        Raises:
            FaultError: SCOPE_MISSING.
        """
        everybody = self._config.watch_others or Scope.ADMIN in client.scopes
        owner = session.owner if isinstance(session, SessionRecord) else session.summary.client
        if not everybody and not client.owns(owner):
            raise FaultError(
                Reason.SCOPE_MISSING,
                f"{client.name} may look into its own sessions only, and this one is of {owner}: others take scope "
                "admin, or a server with --watch-others",
                metadata={"scopes": Scope.ADMIN.value},
            )
        return everybody

    def _check_pictures(self, session: SessionRecord | Ended) -> None:
        if not self._config.frames:
            raise FaultError(
                Reason.UNSUPPORTED,
                "this server shows no pictures; its operator allows them with --frames",
            )
        if isinstance(session, SessionRecord) and not session.renders:
            raise FaultError(
                Reason.UNSUPPORTED,
                'there are no pictures of this session: its client did not make it with render_mode="rgb_array"',
            )

    def _status(self) -> pb.ServerStatus:
        return pb.ServerStatus(
            incarnation=self._sessions.incarnation,
            version=VERSION,
            now=self._sessions.clock() - self._began,
            active_sessions=len(self._sessions),
            max_sessions=self._config.max_sessions,
            waiting=self._admission.waiting,
            draining=self._sessions.draining,
            processor_time=time.process_time(),
            memory=_memory(),
            frames=self._config.frames,
        )


def _sees(client: Client) -> Callable[[str], bool]:
    """Returns a filter for the sessions that a client sees: its own, or with scope inspect or admin, all."""
    if client.scopes & {Scope.INSPECT, Scope.ADMIN}:
        return lambda _: True
    return client.owns


def _period(request: pb.WatchRequest) -> float:
    asked = to_seconds(request.period) if request.HasField("period") else _PERIOD_SECONDS
    return min(max(asked, _MIN_PERIOD), _MAX_PERIOD)


def _frame(picture: Picture) -> pb.Frame:
    return pb.Frame(width=picture.width, height=picture.height, rgb=picture.rgb)


def _memory() -> int:
    """Returns the memory of this process in bytes; its peak if the system does not report the current value."""
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return pages * os.sysconf("SC_PAGE_SIZE")
