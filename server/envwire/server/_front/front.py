"""The front: wires together admission, sessions and relaying, and does their upkeep. It runs no environment code.

Requests and responses are InteractRequest and InteractResponse as bytes. A session's requests are relayed unparsed and
without their header, so that no session process learns a secret.
"""

from __future__ import annotations

import asyncio
import hmac
import logging
import secrets
import time
from collections.abc import Mapping

from google.protobuf.message import DecodeError

from envwire.codec import FaultError, Reason, fault_from_exception
from envwire.farm.v1 import farm_pb2
from envwire.server._auth.access import Access
from envwire.server._auth.client import TRUSTED, Client
from envwire.server._front.admin_service import AdminService, DrainOrder, Notices
from envwire.server._front.control_service import ControlService
from envwire.server._front.direct_listener import DirectListener
from envwire.server._front.farm.orders import SlotOrders, totals_of, usage_of_slots
from envwire.server._front.http_port import Routes, operations
from envwire.server._front.makes.admission import Admission
from envwire.server._front.makes.request_size import check_size, split_session_request
from envwire.server._front.makes.session_maker import Recordings, SessionMaker
from envwire.server._front.makes.warm_pool import WarmPool
from envwire.server._front.observing import ObserveService
from envwire.server._front.sessions.life import END_REASONS, LifeEvent
from envwire.server._front.sessions.record import SessionRecord
from envwire.server._front.sessions.table import Sessions, Stream
from envwire.server._ipc.allocation import Heap
from envwire.server._ipc.refusals import SESSION_REQUESTS, fault_reply, malformed
from envwire.server._processes.environments import Environments, Reloading
from envwire.server.config import ServerConfig
from envwire.v1 import environment_pb2 as pb
from envwire.wire.envelope import (
    REQUESTS,
    STEP_REQUEST,
    drop_header,
    locate_header,
    without_header,
)

_log = logging.getLogger("envwire.server")

_SWEEP_SECONDS = 0.1
#: Seconds between two checks of the heap, each of which takes some 10 us.
_HEAP_SECONDS = 2.0


class Front:
    """Serves all requests of one server, from `start` to `stop`.

    Args:
        config: The server's settings.
        access: Identifies clients.
        environments: The environments that can be made.

    Attributes:
        access: Identifies clients.
        notices: Notices that are sent with answers.
        control_service: Serves requests that need no session process.
        admin_service: Serves the operator.
        observe_service: Serves watchers.
        drain_order: The order to drain and stop the server.
        slot_orders: Executes the slot orders of a farm's gateways.
        direct: Hands direct channels to sessions.
        packages: Packages of an interpreter that is not the server's own.

    Raises:
        OSError: The port of the direct channel is in use.
    """

    def __init__(self, config: ServerConfig, access: Access, environments: Environments) -> None:
        self.access = access
        self._max_make_bytes = config.max_make_bytes
        self._environments = environments
        self.packages = environments.forkserver.interpreter.packages
        clock, incarnation = time.monotonic, secrets.token_hex(8)
        self._sessions = sessions = Sessions(
            config.max_sessions, clock, incarnation, config.max_sessions_per_client
        )
        self._tally = sessions.tally
        self._admission = admission = Admission(config, sessions, environments, access.tickets)
        self._warm_pool = warm_pool = WarmPool(config, environments, sessions)
        self.direct = DirectListener(
            config, sessions, access, self.exchange, environments.placement.fork_ahead
        )
        self.direct.start()
        self._reloading = Reloading(environments, sessions) if config.dev else None
        self._recordings = Recordings(config)
        maker = SessionMaker(
            config,
            environments,
            admission,
            sessions,
            warm_pool,
            self._recordings,
            self._reloading,
            self.direct.addresses,
        )
        self.control_service = ControlService(config, environments.loaded, sessions, maker)
        self.notices = Notices(clock)
        self.drain_order = DrainOrder(config.drain_timeout)
        self.admin_service = AdminService(sessions, self.drain_order)
        self.observe_service = ObserveService(config, sessions, admission)
        self.slot_orders = SlotOrders(sessions)
        self._heap, self._heap_at = Heap(), 0.0
        self._upkeep = asyncio.ensure_future(self._sweep_forever())

    @classmethod
    async def start(cls, config: ServerConfig) -> Front:
        """Loads the environments and returns a front that serves them.

        Raises:
            ValueError: The token file is invalid.
            OSError: The token file cannot be read, or the port of the direct channel is in use.
            ForkserverError: An id is unknown, a module cannot be imported, or the interpreter is unsuitable.
        """
        access = Access(config)
        environments = Environments(config)
        try:
            await environments.start()
            return cls(config, access, environments)
        except BaseException:
            await environments.stop()
            raise

    def http_routes(self) -> Routes:
        """Returns the routes of the HTTP port."""
        from envwire.server._front.server_metrics import ServerMetrics

        sessions = self._sessions
        metrics = ServerMetrics(sessions, self._admission, self._warm_pool)
        return operations(self.access, lambda: not sessions.draining, metrics)

    def totals(self) -> farm_pb2.ServerTotals:
        """Returns what the environments have done and taken."""
        return totals_of(self._sessions)

    def usage(self) -> list[farm_pb2.Usage]:
        """Returns who has used the slots."""
        return usage_of_slots(self._sessions)

    async def _sweep_forever(self) -> None:
        while True:
            asleep_since = self._sessions.clock()
            await asyncio.sleep(_SWEEP_SECONDS)
            try:
                self._sweep(self._sessions.clock() - asleep_since)
            except Exception:
                # One failure must not stop all leases and deadlines.
                _log.exception("a sweep failed")

    def _sweep(self, asleep: float) -> None:
        self._sessions.discount_stall(asleep)
        self._sessions.sweep()
        self.control_service.sweep()
        self._warm_pool.sweep()
        self._sessions.end_revoked(self.access.revoked)
        if self._sessions.clock() >= self._heap_at:
            self._heap_at = self._sessions.clock() + _HEAP_SECONDS
            self._heap.trim()

    async def drain(self, timeout: float) -> None:
        """Refuses new sessions, and waits up to `timeout` seconds for the open ones to end."""
        self.notices.drain(timeout)
        self._warm_pool.close()
        self._admission.close()
        _log.info("draining: %d sessions have %g s to end", len(self._sessions), timeout)
        for process in {session.process for session in self._sessions}:
            process.tell_draining(timeout)
        deadline = self._sessions.clock() + timeout
        while len(self._sessions) and self._sessions.clock() < deadline:
            await asyncio.sleep(_SWEEP_SECONDS)

    async def stop(self) -> None:
        """Ends all sessions, closing their environments, then the fork server. Stopping twice is harmless."""
        self.direct.stop()
        if self._reloading is not None:
            await self._reloading.stop()
        await self._warm_pool.stop()
        self._admission.close()
        self._upkeep.cancel()
        ending = {session.process for session in self._sessions}
        for session in self._sessions:
            session.end(LifeEvent.DRAIN)
        await asyncio.gather(*(process.wait_exited() for process in ending))
        await self._environments.stop()
        self._recordings.close()

    async def exchange(
        self, raw: bytes, stream: Stream | None = None, client: Client = TRUSTED
    ) -> bytes:
        """Serves one request and returns its reply, which reports all errors."""
        try:
            known = None
            if stream is not None and stream.client is client:  # whose scopes were checked
                known = find_step(raw, stream.used)
            if known is None:
                reply = await self._serve(raw, stream, client)
            else:
                session, step = known
                reply = await session.ask(step)
        except FaultError as fault:
            reply = fault_reply(fault).SerializeToString()
        except DecodeError as error:
            reply = fault_reply(malformed(f"not an InteractRequest: {error}")).SerializeToString()
        except Exception as error:
            # The outermost handler: an error in the server must not end the client's stream.
            _log.exception("a request failed inside the server")
            reply = fault_reply(fault_from_exception(error, Reason.INTERNAL)).SerializeToString()
        self._tally.received += len(raw)
        self._tally.sent += len(reply)
        return reply

    async def _serve(self, raw: bytes, stream: Stream | None, client: Client) -> bytes:
        if stream is None and (known := find_step(raw, self._sessions.live)):
            client.check("step")
            session, step = known
            return await session.ask(step)
        if parts := split_session_request(raw):
            client.check(named := REQUESTS.kind(raw))
            header = parts.parse_header()
            return await self._relay(named, header, parts.request, stream, client)
        check_size(raw, self._max_make_bytes)
        request = pb.InteractRequest.FromString(raw)
        kind = request.WhichOneof("request")
        if kind is None:
            raise malformed("a request without content")
        client.check(kind)
        body = getattr(request, kind)
        if kind in SESSION_REQUESTS:
            return await self._relay(kind, body.header, without_header(raw), stream, client)
        reply = await self.control_service.handlers[kind](body, client)
        if kind == "make" and stream is not None and reply.HasField("make"):
            stream.use(self._sessions.find(reply.make.session_id, reply.make.secret), client)
        if kind == "get_session_stats" and stream is not None:
            stream.use(self._sessions.find(body.header.session_id, body.header.secret), client)
        return reply.SerializeToString()

    async def _relay(
        self,
        kind: str,
        header: pb.SessionHeader,
        request: bytes,
        stream: Stream | None,
        client: Client,
    ) -> bytes:
        """Relays a request of a session, without its header, to the session's process."""
        try:
            session = self._sessions.find(header.session_id, header.secret)
        except FaultError as fault:
            # Closing an ended session is harmless.
            if kind == "close" and fault.reason in END_REASONS:
                return pb.InteractResponse(close=pb.CloseResponse()).SerializeToString()
            raise
        if stream is not None:
            stream.use(session, client)
        reply = await session.ask(request)
        if kind == "close":
            session.end(LifeEvent.CLOSE)
        return reply


def find_step(
    raw: bytes, sessions: Mapping[str, SessionRecord]
) -> tuple[SessionRecord, bytes] | None:
    """Returns the session of a step with the right secret, and the step without its header, without parsing it.

    The step is the whole message: no field follows it that could turn the message into another request. The session
    reads what follows the header inside the step. None means only that the request must be parsed.

    Args:
        raw: An InteractRequest.
        sessions: The sessions that it may be for, by id.
    """
    if not raw or raw[0] != STEP_REQUEST:
        return None
    session_id, start, end = locate_header(raw)
    session = sessions.get(session_id)
    if session is None or not hmac.compare_digest(raw[start:end], session.header):
        return None
    return session, drop_header(raw, end)
