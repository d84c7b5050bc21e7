"""Sessions that are made already, over transports of tests."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, NamedTuple

from envwire.client._drivers.blocking import BlockingDriver
from envwire.client._session.client_session import ClientSession
from envwire.codec import Family, envwire_family
from envwire.v1 import environment_pb2 as pb
from envwire.wire.frames import Area


class Anything(NamedTuple):
    """A request whose answer is returned unchanged."""

    @property
    def kind(self) -> str:
        """The field of InteractRequest; what comes back may be another."""
        return "reset"

    def write(self, body: Any) -> None:
        """Writes nothing."""

    def read(self, answer: Any, _: Area | None, __: Family) -> bytes:
        """Returns the answer as the server would have sent it."""
        kind = next(
            field.name
            for field in pb.InteractResponse.DESCRIPTOR.fields
            if field.message_type is answer.DESCRIPTOR
        )
        return pb.InteractResponse(**{kind: answer}).SerializeToString()


ANYTHING = Anything()


def made_session(
    lease: float, timeout: float, clock: Callable[[], float] = time.monotonic
) -> ClientSession:
    """Returns a session that is made."""
    session = ClientSession(envwire_family(), timeout, label="x", clock=clock)
    session.make_request(pb.MakeRequest())
    made = pb.MakeResponse(session_id="x", secret=b"x")
    made.lease.FromNanoseconds(int(lease * 1e9))
    session.receive(pb.InteractResponse(make=made).SerializeToString())
    return session


def driver_over(
    transport: Any, lease: float, timeout: float, clock: Callable[[], float] = time.monotonic
) -> BlockingDriver:
    """Returns what drives a session that is made."""
    return BlockingDriver(made_session(lease, timeout, clock), transport)
