"""Makes sessions: starts or finds a process, orders the environment, and describes the session to its client.

Files of recordings are created here, so that session processes, which write them, need no right to the folder.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from functools import partial

from google.protobuf.message import DecodeError

from envwire.codec import FaultError, Reason
from envwire.codec.errors.statuses import reason_of
from envwire.codec.messages import to_duration, to_seconds
from envwire.server._auth.allow_list import MakeOrder
from envwire.server._auth.client import Client
from envwire.server._front.counters import MADE
from envwire.server._front.makes.admission import Admission
from envwire.server._front.makes.warm_pool import WarmEnvironment, WarmPool
from envwire.server._front.sessions.backlog import Backlog
from envwire.server._front.sessions.life import LifeEvent
from envwire.server._front.sessions.log import log_made, log_not_made
from envwire.server._front.sessions.record import SessionRecord
from envwire.server._front.sessions.session_totals import kind_of
from envwire.server._front.sessions.table import Sessions
from envwire.server._ipc.frames import RENDER_MODE
from envwire.server._processes.environments import Environments, Reloading
from envwire.server._processes.forkserver_start import ForkError, ForkserverError
from envwire.server._processes.process import Process
from envwire.server._recording.files import create_file, file_name, new_name
from envwire.server._recording.folder import DiskCalls, entered, open_folder
from envwire.server.config import ServerConfig
from envwire.v1 import environment_pb2 as pb

_log = logging.getLogger("envwire.server")
#: Less than clients wait for a Make.
_SECONDS = 5.0


class Recordings:
    """The recordings of a server's sessions.

    Args:
        config: The server's settings.

    Raises:
        OSError: The folder is missing, or a link.
    """

    def __init__(self, config: ServerConfig) -> None:
        self._folder = open_folder(config)
        self._disk = DiskCalls(_SECONDS)

    @contextlib.asynccontextmanager
    async def recorded(self, session: SessionRecord) -> AsyncGenerator[None]:
        """Context in which a session is made; it has got the file of its recording, if the server records.

        The file is hidden until the context ends, and then removed if the process has not begun the recording. A disk
        that hangs delays this session alone, which is then not recorded.
        """
        if not self._folder:
            yield
            return
        name, (folder,) = new_name(session.env_id), self._folder
        hidden = f".{file_name(name)}"
        create = partial(_create, folder, hidden)
        try:
            self._disk.check()
            file = await self._disk.call(create, partial(_discard, folder, hidden))
        except OSError as error:  # such as a full disk
            _log.warning("%s is not recorded: %s", session.label, error)
            session.record("", [])
            yield
            return
        try:
            session.record(name, [file])
            os.close(file)
            yield
        finally:
            finish = partial(_finish, folder, hidden, file_name(name), session.recorded)
            with contextlib.suppress(TimeoutError):  # it is done once the disk goes on
                await self._disk.call(finish, lambda _: None)

    def close(self) -> None:
        """Closes the folder. Closing it twice is harmless."""
        while self._folder:
            os.close(self._folder.pop())


def _create(folder: int, name: str) -> int:
    return entered(folder, partial(create_file, folder, name))


def _finish(folder: int, hidden: str, name: str, begun: bool) -> None:
    """Shows the file of a recording that was begun; removes any other."""
    with contextlib.suppress(OSError):
        if begun:
            entered(folder, partial(os.rename, hidden, name, src_dir_fd=folder, dst_dir_fd=folder))
        else:
            entered(folder, partial(os.unlink, hidden, dir_fd=folder))


def _discard(folder: int, hidden: str, file: int) -> None:
    """Removes a file that was created after nobody waited for it any more."""
    os.close(file)
    _finish(folder, hidden, "", begun=False)


#: The warning with which a Make is answered on a server that ends sessions which are not used.
_MAX_IDLE = (
    "this server ends an environment that gets no request for {:g} s (--max-idle); a later step then raises "
    "SessionLostError, and reset() makes the environment again"
)
#: The order to make an environment, or the session to copy.
_Order = MakeOrder | SessionRecord


@dataclass(eq=False)
class SessionMaker:
    """Makes the sessions of one server.

    Args:
        config: The server's settings.
        environments: The environments that the server makes.
        admission: Checks Makes and reserves slots.
        sessions: The table of sessions.
        warm_pool: The pool of environments made ahead.
        recordings: Creates the files of recordings.
        reloading: Reloads the environments after edits; None without --dev.
        direct_addresses: Addresses of the direct port.
    """

    _config: ServerConfig
    _environments: Environments
    _admission: Admission
    _sessions: Sessions
    _warm_pool: WarmPool
    _recordings: Recordings
    _reloading: Reloading | None
    _direct_addresses: list[str]

    def __post_init__(self) -> None:
        config = self._config
        self._backlog = Backlog(config.max_pending_bytes, config.max_pending_bytes_per_client)

    async def make(self, request: pb.MakeRequest, client: Client) -> pb.InteractResponse:
        """Makes a session and returns the answer: the process's own, and how to reach the session.

        Raises:
            FaultError: The Make is not admitted, no process could be started, or the process was lost.
        """
        if self._reloading is not None:
            await self._reloading.refresh()
        with self._sessions.tally.making() as count:
            reply = await self._make(request, client)
            count.outcome = reason_of(reply.error).value if reply.HasField("error") else MADE
            return reply

    async def _make(self, request: pb.MakeRequest, client: Client) -> pb.InteractResponse:
        clock = self._sessions.clock
        order, begun = self._admission.check(request, client), clock()
        client = self._admission.counted(client)
        await self._admission.reserve(client)
        reserved = clock()
        warm = self._warm_pool.take(request, client.name)
        process = warm.process if warm else await self._place(order, client)
        asked, most = to_seconds(request.lease), self._config.max_lease
        lease = min(asked, most) if asked > 0 else self._config.lease
        timeout, on_end = self._config.make_timeout, self._sessions.end
        name, link = self._sessions.new_id(), warm.link if warm else None
        session = SessionRecord(lease, clock, timeout, on_end, process, name, link, self._backlog)
        session.owner = client.name
        session.liveness.max_idle = self._config.max_idle
        session.what = session.env_id = request.env_id
        session.kind = kind_of(request)
        session.as_arrays = request.vector.vectorization_mode not in {"", "sync"}
        if isinstance(order, SessionRecord):
            session.env_id, session.kind = order.env_id, order.kind
            session.as_arrays = order.as_arrays
            session.what = f"a copy of session {order.id}"
        self._sessions.add(session)
        placed = clock()
        try:
            async with self._recordings.recorded(session):
                reply = await self._ask(session, order, warm)
        except asyncio.CancelledError:
            session.end(LifeEvent.CLOSE)
            raise
        if reply.HasField("make") and warm is None:
            self._sessions.make_timings.add(
                reserved - begun, placed - reserved, clock() - placed, session.counters
            )
        return reply

    async def _place(self, order: _Order, client: Client) -> Process:
        """Returns a process with a free slot; for a copy, one forked from the source's process.

        An error gives back the slot that was reserved for the Make.

        Raises:
            FaultError: UNSUPPORTED: the source cannot be forked. CAPACITY_REACHED: no process could be started.
        """
        placement, forkserver = self._environments.placement, self._environments.forkserver
        try:
            if isinstance(order, MakeOrder):
                return await placement.find(client.name)
            return await placement.start(partial(order.process.copy, forkserver))
        except BaseException as error:
            self._sessions.unreserve(client.name)
            if isinstance(error, (ForkserverError, OSError)):
                raise _no_process(error) from error
            raise

    async def _ask(
        self, session: SessionRecord, order: _Order, warm: WarmEnvironment | None
    ) -> pb.InteractResponse:
        if warm:
            raw = warm.reply
        elif isinstance(order, SessionRecord):
            raw = await session.copy()
        else:
            raw = await session.make(order)
        reply = _read_made(raw)
        if reply is None:
            session.end(LifeEvent.MISBEHAVE)
            raise await session.why_ended()
        if reply.HasField("error"):
            log_not_made(session, reply)
            session.end(LifeEvent.CLOSE)
            return reply
        session.on_made(self._config.step_timeout)
        made = reply.make
        session.renders = made.render_mode == RENDER_MODE
        session.recorded = bool(made.recording)
        made.recording = session.recording if session.recorded else ""
        log_made(session, made)
        made.session_id, made.secret = session.id, session.secret
        made.address, made.incarnation = self._config.advertise, self._sessions.incarnation
        made.direct.addresses[:] = self._direct_addresses  # and none that code in the process adds
        made.lease.CopyFrom(to_duration(session.liveness.lease))
        made.step_timeout.CopyFrom(to_duration(session.liveness.timeout))
        if idle := self._config.max_idle:
            made.warnings.add(category="UserWarning", text=_MAX_IDLE.format(idle))
        return reply


def _read_made(raw: bytes) -> pb.InteractResponse | None:
    """Parses a process's answer to a Make; None if it is invalid."""
    try:
        reply = pb.InteractResponse.FromString(raw)
    except DecodeError:
        return None
    return reply if reply.WhichOneof("response") in {"make", "error"} else None


def _no_process(error: Exception) -> FaultError:
    """Returns the error if no process could be started: the machine is at its limits, or the fork server dies."""
    who = "raises the server's limits of files and processes, or lowers --max-sessions"
    if not isinstance(error, (OSError, ForkError)):
        who = "finds in the server's log why the process that forks the sessions ended"
    return FaultError(
        Reason.CAPACITY_REACHED,
        f"no process for the environment at the moment ({error}); try again later or on another server. The operator "
        f"{who}",
        retry_after=1.0,
    )
