"""Admission: decides which Makes get a session. Cheap checks come first; the last one reserves a slot or waits for one.

The rate of each client is limited by a token bucket, stored as the time at which it is full again. The queue of Makes
that wait for a slot is bounded in length and in waiting time.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import replace

from envwire.codec import FaultError, Reason
from envwire.server._auth.allow_list import MakeOrder
from envwire.server._auth.client import FARM_PREFIX, TOKEN_PREFIX, Client
from envwire.server._auth.tickets import Tickets
from envwire.server._front.makes.fair_queue import FairQueue
from envwire.server._front.makes.request_size import check_bounds
from envwire.server._front.sessions.record import SessionRecord
from envwire.server._front.sessions.table import Sessions
from envwire.server._grammar import counted
from envwire.server._ipc.refusals import unknown_environment
from envwire.server._processes.environments import Environments
from envwire.server.config import ServerConfig
from envwire.v1 import environment_pb2 as pb


class Queue:
    """Reserves slots; a Make that finds none waits until one is free.

    Args:
        sessions: The sessions, which hold the slots.
        length: How many Makes may wait at once; 0 for none.
        timeout: Longest wait, in seconds.
    """

    def __init__(self, sessions: Sessions, length: int, timeout: float) -> None:
        self._sessions = sessions
        self._length = length
        self._timeout = timeout
        self._queue = FairQueue[str, None](lambda owner, _: sessions.unreserve(owner))
        sessions.on_free = self._advance

    def __len__(self) -> int:
        return len(self._queue)

    async def reserve(self, owner: str, reservation: bytes = b"") -> None:
        """Reserves a slot (see `Sessions.reserve`), waiting for one if the queue has room.

        Args:
            owner: Name of the client.
            reservation: Id of slots that may be reserved for it.

        Raises:
            FaultError: CLIENT_LIMIT_REACHED; CAPACITY_REACHED: the queue is full, or the time is up.
        """
        self._sessions.check_share(owner, sum(waiter.request == owner for waiter in self._queue))
        must_wait = bool(self._queue) or self._sessions.full
        if self._sessions.reservations.has(reservation) or not must_wait:
            self._sessions.reserve(owner, reservation)
        elif len(self._queue) < self._length:
            await self._queue.wait(owner, self._timeout, self._too_late, owner)
        else:
            waiting = f"; {len(self._queue)} wait already" * bool(self._length)
            raise self._sessions.no_slot(waiting)

    def _too_late(self, _: str) -> FaultError:
        return self._sessions.no_slot(f", and none was freed within {self._timeout:g} s")

    def _advance(self) -> None:
        """Gives free slots to the waiting Makes, a client at a time."""
        for waiter in self._queue:
            if self._sessions.full:
                return
            try:
                self._sessions.reserve(waiter.request)
            except FaultError as fault:
                waiter.future.set_exception(fault)
            else:
                waiter.future.set_result(None)

    def reject_all(self, fault: FaultError) -> None:
        """Fails all waiting Makes with an error."""
        for waiter in self._queue:
            waiter.future.set_exception(copy.copy(fault))


#: Beyond this number of clients, those with a full bucket are dropped, since a new bucket is full as well.
_SWEEP_AT = 4096


class Rate:
    """Limits how many environments each client makes per minute; a burst may use a whole minute's allowance.

    Args:
        per_minute: Environments per minute; 0 for no limit.
        clock: Monotonic time, in seconds.
    """

    def __init__(self, per_minute: int, clock: Callable[[], float]) -> None:
        self._per_minute = per_minute
        self._clock = clock
        self._full_at: dict[str, float] = {}

    def wait(self, client: str) -> float:
        """Takes one token from the client's bucket and returns 0, or returns the seconds until there is one."""
        if not self._per_minute:
            return 0.0
        now, each = self._clock(), 60.0 / self._per_minute
        full_at = max(now, self._full_at.get(client, now)) + each
        early = full_at - now - 60.0
        if early > 1e-9:
            return early
        self._full_at[client] = full_at
        if len(self._full_at) > _SWEEP_AT:
            self._full_at = {name: at for name, at in self._full_at.items() if at > now}
        return 0.0

    def check_make(self, client: str) -> None:
        """Counts a client's Make.

        Raises:
            FaultError: RATE_LIMITED.
        """
        if wait := self.wait(client):
            raise FaultError(
                Reason.RATE_LIMITED,
                f"{client} asked for more than {counted(self._per_minute, 'environment')} in a minute; wait {wait:.1f} "
                "s. The operator raises the number with --max-makes-per-minute",
                retry_after=wait,
            )


class Admission:
    """Admits Makes until the server drains.

    Args:
        config: The server's settings.
        sessions: The sessions, which hold the slots.
        environments: The environments that the server makes.
        tickets: Checks the tickets of clients that a gateway sent.
    """

    def __init__(
        self,
        config: ServerConfig,
        sessions: Sessions,
        environments: Environments,
        tickets: Tickets,
    ) -> None:
        self._sessions = sessions
        self._environments = environments
        self._rate = Rate(config.max_makes_per_minute, sessions.clock)
        self._queue = Queue(sessions, config.queue, config.queue_timeout)
        self._tickets = tickets

    def check(self, request: pb.MakeRequest, client: Client) -> MakeOrder | SessionRecord:
        """Checks a Make; returns the order to make an environment, or the session to copy.

        Raises:
            FaultError: The Make is not allowed.
        """
        if self._sessions.draining:
            raise _draining()
        check_bounds(request)
        if client.ticket is not None:
            self._tickets.check(client.ticket, request)
        if request.HasField("copy_of"):  # its environment was checked when it was made
            return self._sessions.find(request.copy_of.session_id, request.copy_of.secret)
        self._check_served(request)
        return self._environments.allow_list.check(request)

    def counted(self, client: Client) -> Client:
        """Returns a client under the name that its reserved slots count for.

        On a server without tokens, a Make through a gateway would otherwise count for the gateway's address.
        """
        principal = self._sessions.reservations.principal(client.reservation)
        if not principal or client.ticket is not None or client.name.startswith(TOKEN_PREFIX):
            return client
        return replace(client, name=FARM_PREFIX + principal)

    @property
    def waiting(self) -> int:
        """Number of Makes that wait for a free slot."""
        return len(self._queue)

    async def reserve(self, client: Client) -> None:
        """Reserves a slot for a client, waiting for a free one if the operator configured a queue.

        Raises:
            FaultError: RATE_LIMITED, CLIENT_LIMIT_REACHED, CAPACITY_REACHED or DRAINING.
        """
        self._sessions.reservations.check_lapsed(client.reservation)
        self._rate.check_make(client.name)
        if client.ticket is not None:
            self._tickets.use(client.ticket)
        await self._queue.reserve(client.name, client.reservation)

    def close(self) -> None:
        """Refuses all Makes from now on, including those in the queue."""
        self._sessions.draining = True
        self._queue.reject_all(_draining())

    def _check_served(self, request: pb.MakeRequest) -> None:
        served = self._environments.loaded.served
        libraries = [request.library] if request.library else [name for name, _ in served]
        if not any((library, request.env_id) in served for library in libraries):
            raise unknown_environment(request.env_id, served, request.library)


def _draining() -> FaultError:
    return FaultError(
        Reason.DRAINING,
        "the server is finishing its sessions and takes no new ones; use another one",
        retry_after=1.0,
    )
