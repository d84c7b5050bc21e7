"""Many unauthenticated connections: each costs at most 1 or 2 MiB of memory and 1 s of the front's processor time."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from typing import Any

import grpc
import pytest

from envwire.v1 import direct_pb2
from envwire.v1 import environment_pb2 as pb
from tests.adversary import http2
from tests.adversary.channel import HEADER, PREAMBLE, UNIX, frame
from tests.adversary.client import RefusedError
from tests.adversary.ledger import balanced, eventually, peak_within, processor_time_within
from tests.adversary.servers import Target, attacked
from tests.adversary.tokens import Tokens

CARTPOLE = "CartPole-v1"
#: What a connection may cost, and memory that the server needs anyway.
MEMORY, SECONDS, OF_THE_SERVER = 2**20, 1.0, 16 * 2**20
CROWD = 50
#: What gRPC 1.85 takes for headers, which no option of it bounds; and as many fields as are sent for it.
HEADERS, FRAMES = 192 * 2**20, 3000
NOBODY = pb.SessionHeader(session_id="nobody", secret=b"s" * 16)
Knock = Callable[[], Iterable[bytes]]


def speak_http(said: Iterable[bytes]) -> Iterator[bytes]:
    yield http2.PREFACE
    yield from said


#: What a stranger sends to the gRPC port, and to the direct one. Those that take memory are tried each time.
GRPC: dict[str, Knock] = {
    "nothing": list,
    "half a preface": lambda: [http2.PREFACE[:10]],
    "half a call": lambda: speak_http([http2.half_a_call()]),
    "calls that it takes back": lambda: speak_http(http2.calls_taken_back(500)),
    "settings": lambda: speak_http(http2.settings(2000)),
    "noise": lambda: [bytes(range(256)) * 400],
}
#: Headers, of which gRPC itself takes more than a stranger may: 1.3 MB, which fits in the buffers of a connection. The
#: forwarder lets through what costs two MEMORY: 20 KiB, each byte of which may be a field.
ENDLESS: dict[str, Knock] = {
    "headers without an end": lambda: speak_http(http2.headers_without_end(100)),
    "a field without an end": lambda: speak_http(http2.a_field_without_end(100)),
    "empty headers without an end": lambda: speak_http(http2.continued_with_nothing(100_000)),
    "fields named again": lambda: speak_http(http2.fields_named_again(96_000)),
}
DIRECT: dict[str, Knock] = {
    "nothing": list,
    "half a hello": lambda: [PREAMBLE, HEADER.pack(1000, 0, 0), bytes(500)],
    "a hello of 4 GiB": lambda: [PREAMBLE, HEADER.pack(2**32 - 1, 0, 0), bytes(100_000)],
    "a wrong secret": lambda: [
        PREAMBLE + frame(direct_pb2.HelloRequest(header=NOBODY).SerializeToString())
    ],
    "a Make without a token": lambda: [
        PREAMBLE + frame(direct_pb2.HelloRequest(make=direct_pb2.MakeHello()).SerializeToString())
    ],
}


@pytest.fixture(scope="module")
def tokens() -> Iterator[Tokens]:
    with Tokens("alice") as tokens:
        yield tokens


@pytest.fixture
def target(tokens: Tokens) -> Iterator[Target]:
    with attacked(CARTPOLE, tokens=tokens) as target:
        yield target


@pytest.fixture
def public(tokens: Tokens) -> Iterator[Target]:
    with attacked(CARTPOLE, tokens=tokens, public=True) as target:
        yield target


def knock(address: str, said: Iterable[bytes], stack: ExitStack) -> None:
    """Connects and sends as long as the peer reads; the connection stays open."""
    host, _, port = address.rpartition(":")
    connection = stack.enter_context(socket.create_connection((host, int(port)), timeout=10.0))
    with contextlib.suppress(ConnectionError):
        for part in said:
            connection.sendall(part)


def is_served(target: Target) -> bool:
    """Returns whether a client with a token gets an answer."""
    try:
        with target.attacker(token=target.token) as visitor:
            return visitor.info().active_sessions == 0
    except RefusedError:
        return False


def crowd(target: Target, address: str, said: Knock, memory: int = MEMORY) -> None:
    """Opens many connections to an address, and measures their cost."""
    with (
        balanced(target),
        peak_within(target, OF_THE_SERVER + CROWD * memory),
        processor_time_within(target, CROWD * SECONDS),
        ExitStack() as stack,
    ):
        for _ in range(CROWD):
            knock(address, said(), stack)
        # A flood of calls has gRPC cancel those of others, until the front has got through it.
        assert eventually(lambda: is_served(target))


SHORT = (
    "calls that it takes back",
    "a hello of 4 GiB",
    "headers without an end",
    "fields named again",
)


#: gRPC 1.75 takes 7 MiB for each connection of those, and keeps half of it.
KEEPS_CALLS = tuple(map(int, grpc.__version__.split(".")[:2])) < (1, 85)
TOO_OLD = pytest.mark.skipif(KEEPS_CALLS, reason="gRPC keeps what calls took that were taken back")


def kinds(knocks: dict[str, Knock]) -> list[Any]:
    marks: dict[str, Any] = {"calls that it takes back": TOO_OLD}
    return [
        pytest.param(
            said, marks=marks.get(said, () if said in SHORT else pytest.mark.long), id=said
        )
        for said in knocks
    ]


@pytest.mark.parametrize("said", kinds(GRPC))
def test_a_crowd_at_the_grpc_port(target: Target, said: str) -> None:
    crowd(target, target.address.replace("localhost", "127.0.0.1"), GRPC[said])


@pytest.mark.parametrize("said", kinds({**GRPC, **ENDLESS}))
def test_a_crowd_at_a_public_grpc_port(public: Target, said: str) -> None:
    address, memory = (
        public.address.replace("localhost", "127.0.0.1"),
        MEMORY * (1 + (said in ENDLESS)),
    )
    crowd(public, address, {**GRPC, **ENDLESS}[said], memory)


def test_headers_without_an_end_take_what_grpc_lets_them(target: Target) -> None:
    address = target.address.replace("localhost", "127.0.0.1")
    with (
        balanced(target),
        peak_within(target, HEADERS),
        processor_time_within(target, 2 * SECONDS),
        ExitStack() as stack,
    ):
        knock(address, speak_http(http2.headers_without_end(FRAMES)), stack)
        assert eventually(lambda: is_served(target))


@pytest.mark.parametrize("said", kinds(DIRECT))
def test_a_crowd_at_the_direct_port(target: Target, tokens: Tokens, said: str) -> None:
    with target.attacker(token=tokens["alice"]) as alice:
        made = alice.make(CARTPOLE)
        alice.ask(made, "close", 1).answer()
    addresses = made.made.direct.addresses
    (address,) = (each for each in addresses if not each.startswith(UNIX))
    crowd(target, f"127.0.0.1:{address.rpartition(':')[2]}", DIRECT[said])
