"""Clients that keep a program waiting on the connection that it was lent."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from envwire.conformance.raw import Access, DirectLink, Session
from envwire.conformance.raw.direct_link import UNIX, frame
from envwire.conformance.raw.values import counted, int64s, integer
from envwire.conformance.suite.context import CheckContext
from envwire.v1.environment_pb2 import GetServerInfoResponse
from tests.faults.scene import eventually

#: Bytes of an answer that no kernel buffers.
MUCH = 3_000_000


@contextmanager
def _session(target: str, name: str) -> Generator[tuple[CheckContext, Session, DirectLink]]:
    """Makes a session with a direct channel over a Unix socket."""
    with CheckContext(Access(target), GetServerInfoResponse(), seconds=20.0) as context:
        made = context.made(context.ask_make(name))
        (address,) = (each for each in made.direct.addresses if each.startswith(UNIX))
        link = context.direct(made, address)
        session = context.attach(made, link)
        session.reset(1)
        yield context, session, link


def read_late_and_ask_elsewhere(target: str) -> None:
    """Leaves a long answer unread, repeats the request over gRPC, and then reads; both answers are right."""
    with _session(target, "Big") as (context, session, link):
        step = session.request("step", action=integer(MUCH))
        link.send(step)
        assert link.readable(20.0)
        kept = session.send(step, context.unary).of("step").observation.array
        assert kept.data == counted(MUCH)
        assert link.receive().of("step").observation.array.data == counted(MUCH)
        session.number += 1
        again = session.step(integer(MUCH)).observation.array
        assert again.data == counted(MUCH)


def pause_in_a_frame(target: str) -> None:
    """Sends a part of a request, another one over gRPC, and then the rest; both are served."""
    with _session(target, "Counter") as (context, session, link):
        for cut in (8, 20):
            number = session.number
            later = frame(session.request("step", sequence=number + 2, action=integer(1)))
            link.send_bytes(later[:cut])
            assert eventually(link.all_read)
            session.send(session.request("step", action=integer(1)), context.unary).of("step")
            link.send_bytes(later[cut:])
            assert int64s(link.receive().of("step").observation) == [number + 1, number + 1]
            session.number += 2
