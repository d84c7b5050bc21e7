"""The front: admits clients, keeps sessions, and relays requests to them. It never runs environment code.

Everything here speaks InteractRequest and InteractResponse as bytes; what belongs to a session is relayed as it came,
but without its header: no environment's process learns a secret.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
import time
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

from google.protobuf.duration_pb2 import Duration
from google.protobuf.message import DecodeError

from envwire.codec import FaultError, Reason, fault_from_exception
from envwire.server._auth.access import Access
from envwire.server._auth.allow_list import MakeOrder
from envwire.server._auth.client import TRUSTED, Client
from envwire.server._auth.make_bounds import check_bounds
from envwire.server._front.direct_listener import DirectListener
from envwire.server._front.kept_makes import KeptMakes
from envwire.server._front.make_queue import Queue
from envwire.server._front.processors import cpu_count
from envwire.server._front.rate_limit import Rate
from envwire.server._front.request_size import check_size
from envwire.server._front.session_record import HostedSession, closed, misbehaved
from envwire.server._front.sessions import Sessions
from envwire.server._front.stream import Stream
from envwire.server._ipc.fault_replies import afresh, fault_reply
from envwire.server._ipc.session_requests import SESSION_REQUESTS
from envwire.server._ipc.unknown_environment import unknown_environment
from envwire.server._processes.forkserver import ForkError, Loaded, TemplateError, TemplateLink
from envwire.server._processes.placement import Placement
from envwire.server._processes.process import Process
from envwire.server._version import VERSION
from envwire.server.config import ServerConfig
from envwire.v1 import environment_pb2 as pb
from envwire.wire.envelope import without_header

_log = logging.getLogger("envwire.server")

_SWEEP_SECONDS = 0.1
CAPABILITIES = ("direct", "fork", "interact", "replay", "save_state", "vector")
#: The fates of sessions.
_ENDS = frozenset(
    {
        Reason.SESSION_CLOSED,
        Reason.SESSION_EXPIRED,
        Reason.SESSION_LOST,
        Reason.STEP_TIMEOUT,
        Reason.DRAINING,
    }
)


class Front:
    """Serves all requests of one server.

    Args:
        config: The server's settings.
        clock: Monotonic time, in seconds.

    Raises:
        ValueError: The token file cannot be understood.
        OSError: It cannot be read.
    """

    def __init__(self, config: ServerConfig, clock: Callable[[], float] = time.monotonic) -> None:
        self._config = config
        self._clock = clock
        self._policy = config.policy
        self.access = Access(config, clock)
        self._makes = Rate(config.max_makes_per_minute, clock)
        self._incarnation = secrets.token_hex(8)
        self._sessions = Sessions(
            config.max_sessions, clock, self._incarnation, config.max_sessions_per_client
        )
        self._queue = Queue(self._sessions, config.queue, config.queue_timeout)
        self._kept = KeptMakes(self._sessions.is_fresh)
        self._template = TemplateLink(config)
        self._loaded = Loaded(pb.ListEnvironmentsResponse())
        self._sweeper: asyncio.Future[None] | None = None
        self._draining = False
        self._placement = Placement(config, self._template.fork)
        self._direct = DirectListener(config, self._sessions)
        self.address = config.advertise
        self._control: dict[str, Callable[[Any, Client], Awaitable[pb.InteractResponse]]] = {
            "list_environments": self._list_environments,
            "make": self._make,
            "renew_lease": self._renew_lease,
            "get_server_info": self._get_server_info,
            "get_session_stats": self._get_session_stats,
        }

    async def start(self) -> None:
        """Loads the environments.

        Raises:
            TemplateError: An id is unknown, or a module cannot be imported.
        """
        self._loaded = await self._template.start()
        self._sweeper = asyncio.ensure_future(self._sweep())
        self._direct.start()

    async def _sweep(self) -> None:
        while True:
            asleep_since = self._clock()
            await asyncio.sleep(_SWEEP_SECONDS)
            try:
                self._sessions.excuse(self._clock() - asleep_since)
                self._sessions.sweep()
                self._kept.sweep()
                self._sessions.evict(self.access.struck_off)
            except Exception:  # leases and deadlines must go on whatever one session does
                _log.exception("a sweep failed")

    async def drain(self, timeout: float) -> None:
        """Takes no more sessions and waits, `timeout` seconds at most, until those there are have ended."""
        self._draining = True
        self._queue.dissolve(_draining())
        _log.info("draining: %d sessions have %g s to end", len(self._sessions), timeout)
        deadline = self._clock() + timeout
        while len(self._sessions) and self._clock() < deadline:
            await asyncio.sleep(_SWEEP_SECONDS)

    async def stop(self) -> None:
        """Ends all sessions, closing their environments, then the template. Stopping twice is harmless."""
        self._draining = True
        self._queue.dissolve(_draining())
        if self._sweeper is not None:
            self._sweeper.cancel()
        self._direct.stop()
        ending = {session.process for session in self._sessions}
        for session in self._sessions:
            session.end(FaultError(Reason.DRAINING, "the server stopped; go on with another one"))
        await asyncio.gather(*(process.wait_exited() for process in ending))
        await self._template.stop()

    async def exchange(
        self, raw: bytes, stream: Stream | None = None, client: Client = TRUSTED
    ) -> bytes:
        """Serves one request and returns its reply; whatever goes wrong is in the reply."""
        try:
            return await self._exchange(raw, stream, client)
        except FaultError as fault:
            return fault_reply(fault).SerializeToString()
        except DecodeError as error:
            return fault_reply(_malformed(f"not an InteractRequest: {error}")).SerializeToString()
        except Exception as error:
            # The outermost rim: a fault of ours must not end the client's stream.
            _log.exception("a request failed inside the server")
            return fault_reply(fault_from_exception(error, Reason.INTERNAL)).SerializeToString()

    async def _exchange(self, raw: bytes, stream: Stream | None, client: Client) -> bytes:
        known = self._sessions.recognise(raw)
        if known is not None and (stream is None or stream.uses(known[0])):
            client.check("step")
            session, step = known
            return await session.ask(step)
        check_size(raw, self._config.max_make_bytes)
        request = pb.InteractRequest.FromString(raw)
        kind = request.WhichOneof("request")
        if kind is None:
            raise _malformed("a request without content")
        client.check(kind)
        body = getattr(request, kind)
        if kind in SESSION_REQUESTS:
            return await self._relay(kind, body, raw, stream)
        reply = await self._control[kind](body, client)
        if kind == "make" and stream is not None and reply.HasField("make"):
            stream.use(self._sessions.find(reply.make.session_id, reply.make.secret))
        return reply.SerializeToString()

    async def _relay(self, kind: str, body: Any, raw: bytes, stream: Stream | None) -> bytes:
        try:
            session = self._sessions.find(body.header.session_id, body.header.secret)
        except FaultError as fault:
            if kind == "close" and fault.reason in _ENDS:  # closing what has ended is harmless
                return pb.InteractResponse(close=pb.CloseResponse()).SerializeToString()
            raise
        if stream is not None:
            stream.use(session)
        reply = await session.ask(without_header(raw))
        if kind == "close":
            session.end(closed(session.id))
        return reply

    async def _make(self, request: pb.MakeRequest, client: Client) -> pb.InteractResponse:
        making = partial(self._make_new, request, client)
        return await self._kept.once(client.name, request, making)

    async def _make_new(self, request: pb.MakeRequest, client: Client) -> pb.InteractResponse:
        if self._draining:
            raise _draining()
        check_bounds(request)
        source = self._source(request)
        order: MakeOrder | None = None
        if source is None:  # what is copied was checked when it was made
            self._check_served(request)
            order = self._policy.check(request)
        self._makes.check_make(client.name)
        await self._queue.reserve(client.name)
        try:
            process = await self._place(client.name, source)
        except (TemplateError, OSError) as error:
            self._sessions.unreserve(client.name)
            raise _no_process(error) from error
        except BaseException:
            self._sessions.unreserve(client.name)
            raise
        session = self._new_session(request, process)
        session.owner = client.name
        self._sessions.add(session)
        return await self._made(session, request, order)

    async def _made(
        self, session: HostedSession, request: pb.MakeRequest, order: MakeOrder | None
    ) -> pb.InteractResponse:
        try:
            raw = await (session.copy() if order is None else session.make(order))
        except asyncio.CancelledError:
            session.end(closed(session.id))
            raise
        reply = _read_made(raw)
        if reply is None:
            fate = misbehaved(session.id, session.process.pid)
            session.end(fate, at_once=True)
            raise afresh(fate)
        if reply.HasField("error"):
            session.end(closed(session.id))
            return reply
        session.timeout = self._config.step_timeout
        made = reply.make
        made.session_id, made.secret, made.address = session.id, session.secret, self.address
        made.direct.addresses.extend(self._direct.addresses)
        made.lease.CopyFrom(_duration(session.lease))
        made.step_timeout.CopyFrom(_duration(session.timeout))
        _log.info(
            "session %s: %s in process %d for %s",
            session.id,
            request.env_id,
            session.process.pid,
            session.owner,
        )
        return reply

    def _source(self, request: pb.MakeRequest) -> HostedSession | None:
        """Returns the session whose environment is to be copied; None when a new one is to be made."""
        if not request.HasField("copy_of"):
            return None
        source = self._sessions.find(request.copy_of.session_id, request.copy_of.secret)
        request.env_id = f"a copy of session {source.id}"
        return source

    async def _place(self, client: str, source: HostedSession | None) -> Process:
        """Returns a process with a free slot: for a copy, one forked from that of its source.

        Raises:
            FaultError: UNSUPPORTED: it cannot be forked.
            TemplateError: No process could be forked.
            OSError: Too many files are open.
        """
        if source is None:
            return await self._placement.find(client)
        return await self._placement.start(partial(source.process.copy, self._template))

    def _new_session(self, request: pb.MakeRequest, process: Process) -> HostedSession:
        config = self._config
        lease = config.lease
        if request.HasField("lease"):
            asked = request.lease.seconds + request.lease.nanos / 1e9
            if asked > 0:
                lease = min(asked, config.max_lease)
        return HostedSession(lease, self._clock, config.make_timeout, self._sessions.end, process)

    def _check_served(self, request: pb.MakeRequest) -> None:
        known = [
            (listing.library, listing.spec.id) for listing in self._loaded.environments.environments
        ]
        libraries = [request.library] if request.library else [name for name, _ in known]
        if not any((library, request.env_id) in known for library in libraries):
            raise unknown_environment(request.env_id, [env_id for _, env_id in known])

    async def _list_environments(
        self, _: pb.ListEnvironmentsRequest, __: Client
    ) -> pb.InteractResponse:
        return pb.InteractResponse(list_environments=self._loaded.environments)

    async def _renew_lease(self, request: pb.RenewLeaseRequest, _: Client) -> pb.InteractResponse:
        session = self._sessions.find(request.header.session_id, request.header.secret)
        session.last_used = self._clock()
        return pb.InteractResponse(
            renew_lease=pb.RenewLeaseResponse(lease=_duration(session.lease))
        )

    async def _get_session_stats(
        self, request: pb.GetSessionStatsRequest, _: Client
    ) -> pb.InteractResponse:
        session = self._sessions.find(request.header.session_id, request.header.secret)
        requests, serving, stepping = session.stats()
        stats = pb.GetSessionStatsResponse(
            requests=requests, serving=_duration(serving), stepping=_duration(stepping)
        )
        return pb.InteractResponse(get_session_stats=stats)

    async def _get_server_info(self, _: pb.GetServerInfoRequest, __: Client) -> pb.InteractResponse:
        config = self._config
        info = pb.GetServerInfoResponse(
            version=VERSION,
            capabilities=CAPABILITIES,
            max_sessions=config.max_sessions,
            active_sessions=len(self._sessions),
            incarnation=self._incarnation,
            libraries=[
                pb.LibraryInfo(name=name, version=version)
                for name, version in self._loaded.libraries
            ],
            default_lease=_duration(config.lease),
            max_lease=_duration(config.max_lease),
            step_timeout=_duration(config.step_timeout),
            max_message_bytes=config.max_message_bytes,
            draining=self._draining,
            cpu_count=cpu_count(),
            max_envs_per_session=config.max_envs_per_session,
        )
        return pb.InteractResponse(get_server_info=info)


def _read_made(raw: bytes) -> pb.InteractResponse | None:
    """Returns what a process answered when it was to make an environment; None when that is no answer."""
    try:
        reply = pb.InteractResponse.FromString(raw)
    except DecodeError:
        return None
    return reply if reply.WhichOneof("response") in {"make", "error"} else None


def _duration(seconds: float) -> Duration:
    duration = Duration()
    duration.FromNanoseconds(round(seconds * 1e9))
    return duration


def _draining() -> FaultError:
    return FaultError(
        Reason.DRAINING,
        "the server is finishing its sessions and takes no new ones; use another one",
        retry_after=1.0,
    )


def _no_process(error: Exception) -> FaultError:
    """Says why there is no process: for the moment the machine has none to give, or something is broken."""
    if not isinstance(error, (OSError, ForkError)):
        return FaultError(Reason.INTERNAL, f"no process for the environment: {error}")
    return FaultError(
        Reason.CAPACITY_REACHED,
        f"no process for the environment at the moment ({error}); try again later or on another server. The operator "
        "raises the server's limits of files and processes, or lowers --max-sessions",
        retry_after=1.0,
    )


def _malformed(text: str) -> FaultError:
    return FaultError(Reason.MALFORMED_REQUEST, f"{text}; send what protos/envwire/v1 describes")
