"""The seats of a vector environment together: laid out and made, made again when closed or lost, closed."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Sequence
from operator import methodcaller
from typing import Any

from envwire.client._drivers.concurrently import at_once
from envwire.client._recovery.vector_strategies import POLICIES
from envwire.client._session import lifetime as _lifetime
from envwire.client._session.closing import close_all
from envwire.client._session.stats import ConnectionStats
from envwire.client._vector.layout import Share
from envwire.client._vector.making import Maker, Owner
from envwire.client._vector.shards import Seat
from envwire.client.errors import not_live
from envwire.v1 import environment_pb2 as pb

#: Seats differ in how they do it.
_MAKE: Callable[[Seat], pb.MakeResponse] = methodcaller("make")


class Seating:
    """The seats.

    Args:
        env: The vector environment. It is not kept alive.

    Attributes:
        seats: The seats in the order of their environments.
        closed: Whether the environments are closed, or were not made yet.
    """

    def __init__(self, env: Any) -> None:
        self.seats: list[Seat] = []
        self.closed = True
        self._owner = Owner(env)
        self._pid = os.getpid()

    def make(
        self, shares: Sequence[Share], maker: Maker, on_lost: str, replay_limit: int
    ) -> list[pb.MakeResponse]:
        """Makes every session, and returns what the servers say of them.

        Args:
            shares: The environments of each.
            maker: Makes sessions.
            on_lost: What becomes of environments whose session is lost, by name.
            replay_limit: How many requests of each session are recorded at most.
        """
        seat = POLICIES[on_lost]
        self.seats = [
            seat(share, maker, self._owner, maker.recording(replay_limit)) for share in shares
        ]
        return at_once(_MAKE, self.seats)

    def make_missing(self) -> None:
        """Makes the sessions that this process does not have."""
        if self._pid != os.getpid():
            for seat in self.seats:
                seat.leave()
            self._pid = os.getpid()
        at_once(_MAKE, [seat for seat in self.seats if seat.session is None])
        self.closed = False

    def check_live(self) -> None:
        """Checks that this process has what it needs to step.

        Raises:
            SessionClosedError: The environments are closed, or a parent process's.
        """
        if self.closed or self._pid != os.getpid():
            raise not_live(self._owner, None if self.closed else self._pid)

    def taken(self) -> list[Seat]:
        """Returns the seats, each of which has a session.

        Raises:
            SessionClosedError: A session was lost.
        """
        if any(seat.session is None for seat in self.seats):
            raise not_live(self._owner)
        return self.seats

    def stats(self) -> ConnectionStats:
        """Returns what connections and sessions of all seats went through."""
        return ConnectionStats(*map(sum, zip(*(seat.stats for seat in self.seats), strict=True)))

    def close(self) -> None:
        """Closes the sessions of this process, and leaves a parent's to it.

        Raises:
            Exception: The first of what the environments raised.
        """
        sessions = [seat.session for seat in self.seats if seat.session is not None]
        for seat in self.seats:
            seat.session = None
        own = [session for session in sessions if session.pid == os.getpid()]
        for session in own:
            _lifetime.forget(session)
        close_all(own)

    def drop(self) -> None:
        """Closes what was made of environments that could not all be made."""
        for seat in self.seats:
            if seat.session is not None:
                with contextlib.suppress(Exception):
                    seat.session.close()
                seat.leave()
