"""Requests that the front answers itself: Make, ListEnvironments, GetServerInfo, RenewLease, GetSessionStats."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from envwire.codec.messages import to_duration
from envwire.server._auth.client import Client
from envwire.server._front.makes.make_deduplicator import MakeDeduplicator
from envwire.server._front.makes.session_maker import SessionMaker
from envwire.server._front.sessions.session_totals import StepTimes
from envwire.server._front.sessions.table import Sessions
from envwire.server._processes.forkserver_start import Loaded
from envwire.server._processes.resources import cpu_count
from envwire.server.config import ServerConfig
from envwire.v1 import environment_pb2 as pb
from envwire.wire.version import VERSION

CAPABILITIES = ("direct", "fork", "interact", "make", "replay", "save_state", "vector")

Handler = Callable[[Any, Client], Awaitable[pb.InteractResponse]]


@dataclass(eq=False)
class ControlService:
    """Serves requests without a session, and requests about a session that need no answer from its process.

    Args:
        config: The server's settings.
        loaded: The environments that the server makes.
        sessions: Its sessions.
        maker: Makes the sessions.

    Attributes:
        loaded: The same.
        handlers: The methods, by their requests' fields in InteractRequest.
    """

    _config: ServerConfig
    loaded: Loaded
    _sessions: Sessions
    _maker: SessionMaker

    def __post_init__(self) -> None:
        self._kept = MakeDeduplicator(self._sessions)
        self._step_times = StepTimes(self.loaded.environments.environments)
        self.handlers: dict[str, Handler] = {
            "make": self.make,
            "list_environments": self.list_environments,
            "get_server_info": self.get_server_info,
            "renew_lease": self.renew_lease,
            "get_session_stats": self.get_session_stats,
        }

    def sweep(self) -> None:
        """Drops kept answers to Makes that can no longer be repeated, and updates the step times."""
        self._kept.sweep()
        self._step_times.update(self._sessions)

    async def make(self, request: pb.MakeRequest, client: Client) -> pb.InteractResponse:
        """Makes a session, once per request id."""
        making = partial(self._maker.make, request, client)
        return await self._kept.run_once(client.name, request, making, client.deadline)

    async def list_environments(
        self, _: pb.ListEnvironmentsRequest, __: Client
    ) -> pb.InteractResponse:
        """Lists the environments that the server makes."""
        return pb.InteractResponse(list_environments=self.loaded.environments)

    async def renew_lease(self, request: pb.RenewLeaseRequest, _: Client) -> pb.InteractResponse:
        """Renews a session's lease."""
        session = self._sessions.find(request.header.session_id, request.header.secret)
        session.liveness.touch()
        lease = pb.RenewLeaseResponse(lease=to_duration(session.liveness.lease))
        return pb.InteractResponse(renew_lease=lease)

    async def get_session_stats(
        self, request: pb.GetSessionStatsRequest, _: Client
    ) -> pb.InteractResponse:
        """Returns how many requests a session served and how long they took."""
        session = self._sessions.find(request.header.session_id, request.header.secret)
        seen = session.counters
        stats = pb.GetSessionStatsResponse(
            requests=seen.requests,
            serving=to_duration(seen.serving / 1e9),
            stepping=to_duration(seen.stepping / 1e9),
        )
        return pb.InteractResponse(get_session_stats=stats)

    async def get_server_info(
        self, request: pb.GetServerInfoRequest, _: Client
    ) -> pb.InteractResponse:
        """Describes the server."""
        return pb.InteractResponse(get_server_info=self.describe(request))

    def describe(self, request: pb.GetServerInfoRequest | None = None) -> pb.GetServerInfoResponse:
        """Describes the server: version, capabilities, limits and load, and how long a step takes, if asked and known.

        Args:
            request: Names the environment whose steps are meant, if any.
        """
        config = self._config
        info = pb.GetServerInfoResponse(
            version=VERSION,
            capabilities=CAPABILITIES,
            max_sessions=config.max_sessions,
            active_sessions=len(self._sessions),
            incarnation=self._sessions.incarnation,
            libraries=self.loaded.libraries,
            default_lease=to_duration(config.lease),
            max_lease=to_duration(config.max_lease),
            step_timeout=to_duration(config.step_timeout),
            max_message_bytes=config.max_message_bytes,
            draining=self._sessions.draining,
            cpu_count=cpu_count(),
            max_envs_per_session=config.max_envs_per_session,
        )
        if request is not None and request.env_id:
            meant = (
                request.make if request.HasField("make") else pb.MakeRequest(env_id=request.env_id)
            )
            step_time = self._step_times.of(meant)
            if step_time is not None:
                info.step_time.CopyFrom(to_duration(step_time))
        return info
