"""Tickets are valid for one Make, one run of one server, a number of sessions and a minute, also if stolen."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from envwire.codec import FaultError, Reason
from envwire.codec.digests import make_digest
from envwire.farm.gateway.allocation.allocating import Share
from envwire.farm.gateway.allocation.tickets import TicketSigner
from envwire.farm.gateway.registry.states import Member
from envwire.farm.v1 import farm_pb2
from envwire.server._auth.access import Access, PeerIdentity
from envwire.server._auth.scopes import Scope
from envwire.server._auth.tickets import Tickets
from envwire.server.config import ServerConfig
from envwire.v1 import environment_pb2 as pb
from tests.unit.farm.gateway.registry.test_registry import hello

MAKE = pb.MakeRequest(env_id="CartPole-v1", request_id=b"r" * 16)
RUN = "a1"


class Scene:
    """A gateway that signs, and a server that trusts it."""

    def __init__(self) -> None:
        self.now = 1e9
        self.signer = TicketSigner(lambda: self.now - 5e8)  # another machine's clock
        self.tickets = Tickets(lambda: self.now)
        self.trust(self.tickets, self.signer)
        self.member = Member(hello("a", keeps_slots=True), "a:1", 0.0)

    def trust(self, tickets: Tickets, signer: TicketSigner, run: str = RUN) -> None:
        tickets.trust("gateway", signer.public_key, run, signer.now)

    def signed(self, count: int = 1) -> bytes:
        asked = farm_pb2.AllocateRequest(
            count=count, env_id=MAKE.env_id, make_digest=make_digest(MAKE)
        )
        return self.signer.sign("token alice", Share(self.member, count, b"n" * 16), asked)

    def make(self, signed: bytes, request: pb.MakeRequest = MAKE) -> None:
        ticket = self.tickets.read(signed)
        self.tickets.check(ticket, request)
        self.tickets.use(ticket)


@pytest.fixture
def scene() -> Scene:
    return Scene()


def refused(act: Callable[[], object], why: str) -> None:
    with pytest.raises(FaultError, match=why) as raised:
        act()
    assert raised.value.reason is Reason.UNAUTHENTICATED


def test_a_ticket_makes_as_many_sessions_as_it_is_for(scene: Scene) -> None:
    signed = scene.signed(count=3)
    for _ in range(3):
        scene.make(signed)
    refused(lambda: scene.make(signed), "for 3 sessions")


def test_each_of_equal_makes_may_have_a_request_id(scene: Scene) -> None:
    other = pb.MakeRequest(env_id=MAKE.env_id, request_id=b"s" * 16)
    scene.make(scene.signed(), other)


@pytest.mark.parametrize(
    "other",
    [
        pb.MakeRequest(env_id="Pendulum-v1"),
        pb.MakeRequest(env_id="CartPole-v1", render_mode="rgb_array"),
        pb.MakeRequest(env_id="CartPole-v1", vector=pb.VectorRequest(num_envs=1000)),
        pb.MakeRequest(env_id="CartPole-v1", copy_of=pb.SessionHeader(session_id="x")),
    ],
    ids=lambda other: str(other.ListFields()[-1][0].name),
)
def test_another_make_is_refused(scene: Scene, other: pb.MakeRequest) -> None:
    refused(lambda: scene.make(scene.signed(), other), "another Make")


def test_an_old_ticket_makes_nothing_and_still_tells_who_drives_a_session(scene: Scene) -> None:
    signed = scene.signed()
    scene.make(signed)
    scene.now += 61.0
    refused(lambda: scene.make(signed), "expired")
    assert scene.tickets.read(signed).principal == "token alice"


def test_a_ticket_that_was_used_is_not_forgotten_before_it_expires(scene: Scene) -> None:
    signed = scene.signed()
    scene.make(signed)
    scene.now += 59.0
    refused(lambda: scene.make(signed), "1 session, which has been made")


@pytest.mark.parametrize("byte", [0, 5, 40, -1])
def test_a_ticket_that_was_changed_is_refused(scene: Scene, byte: int) -> None:
    parsed = farm_pb2.SignedTicket.FromString(scene.signed())
    for name in ("ticket", "signature"):
        changed = farm_pb2.SignedTicket()
        changed.CopyFrom(parsed)
        content = bytearray(getattr(parsed, name))
        content[byte] ^= 1
        setattr(changed, name, bytes(content))
        refused(lambda: scene.make(changed.SerializeToString()), "not accepted")  # noqa: B023
    refused(lambda: scene.make(b"\xff nonsense"), "not accepted")


def test_a_ticket_of_another_gateway_or_for_another_run_is_refused(scene: Scene) -> None:
    signed = scene.signed()
    stranger, restarted = Tickets(lambda: scene.now), Tickets(lambda: scene.now)
    scene.trust(stranger, TicketSigner(lambda: scene.now))
    scene.trust(restarted, scene.signer, "a2")
    for tickets in (stranger, restarted, Tickets()):
        refused(lambda: tickets.read(signed), "no gateway")  # noqa: B023


def test_tickets_of_a_gateways_last_run_are_on_their_way(scene: Scene) -> None:
    signed = scene.signed()
    scene.trust(scene.tickets, TicketSigner(lambda: scene.now))
    scene.make(signed)
    scene.trust(scene.tickets, TicketSigner(lambda: scene.now))
    refused(lambda: scene.make(scene.signed(count=2)), "no gateway")


def test_a_ticket_that_was_accepted_stays_known_however_often_the_gateway_is_restarted(
    scene: Scene,
) -> None:
    first, late = scene.signed(), scene.signed(count=2)
    scene.make(first)
    for _ in range(3):
        scene.trust(scene.tickets, TicketSigner(lambda: scene.now))
    assert scene.tickets.read(first).principal == "token alice"
    refused(lambda: scene.tickets.read(late), "no gateway")


def test_a_ticket_is_for_playing_whatever_the_server_allows_others(scene: Scene) -> None:
    access = Access(ServerConfig(("*",)))
    scene.trust(access.tickets, scene.signer)
    client = access.identify(PeerIdentity(ticket=scene.signed()))
    assert client.scopes == {Scope.PLAY}
    assert client.reservation == b"n" * 16
    assert not access.revoked(client.name)


def test_uses_are_forgotten_when_tickets_expire(scene: Scene) -> None:
    for number in range(200):
        ticket = farm_pb2.Ticket(nonce=bytes([number]), count=1, expires=int(scene.now) + 60)
        scene.tickets.use(ticket)
        scene.now += 1.0
    assert len(scene.tickets._used) <= 62
