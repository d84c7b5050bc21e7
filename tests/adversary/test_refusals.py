"""A refused client of the direct port gets the error, even while it is still sending, or if it names no session."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Iterator

import pytest

from envwire.v1 import direct_pb2
from envwire.v1 import environment_pb2 as pb
from tests.adversary.channel import HEADER, PREAMBLE, UNIX, frame
from tests.adversary.client import SECONDS, reason_of
from tests.adversary.ledger import balanced, peak_within
from tests.adversary.servers import Target, attacked

CARTPOLE = "CartPole-v1"
MEGABYTE = 2**20


@pytest.fixture(scope="module")
def target() -> Iterator[Target]:
    """A server of one environment."""
    with attacked(CARTPOLE) as target:
        yield target


def connected(target: Target, unix: bool) -> socket.socket:
    """Returns a raw connection to the direct channel's port, or to its Unix socket."""
    with target.attacker() as attacker:
        made = attacker.make(CARTPOLE)
        attacker.ask(made, "close", 1).answer()
    addresses = made.made.direct.addresses
    connection = socket.socket(socket.AF_UNIX if unix else socket.AF_INET)
    connection.settimeout(SECONDS)
    for address in addresses:
        if unix and address.startswith(UNIX):
            connection.connect("\0" + address.removeprefix(UNIX))
        elif not unix and not address.startswith(UNIX):
            connection.connect(("127.0.0.1", int(address.rpartition(":")[2])))
    return connection


def answer(connection: socket.socket) -> str:
    """Returns the reason of the refusal, and checks that no data follows."""
    said = b""
    while more := connection.recv(65536):
        said += more
    length, _, _ = HEADER.unpack_from(said)
    assert len(said) == HEADER.size + length
    return reason_of(direct_pb2.HelloResponse.FromString(said[HEADER.size :]).error)


def hello(**fields: object) -> bytes:
    """Returns the first bytes of a connection."""
    return PREAMBLE + frame(direct_pb2.HelloRequest(**fields).SerializeToString())  # type: ignore[arg-type]


def flood(connection: socket.socket, most: int) -> int:
    """Sends until the server ends the connection; returns how much went."""
    sent = 0
    with contextlib.suppress(ConnectionError):
        while sent < most:
            sent += connection.send(bytes(65536))
    return sent


NEW = direct_pb2.MakeHello()
NOBODY = pb.SessionHeader(session_id="nobody", secret=b"s" * 16)
both_sockets = pytest.mark.parametrize("unix", [False, True], ids=["TCP", "Unix"])


@both_sockets
@pytest.mark.parametrize("length", [10 * MEGABYTE, 50 * MEGABYTE])
def test_who_sends_a_make_that_is_too_long_is_told(target: Target, unix: bool, length: int) -> None:
    """It sends all of it before it reads the answer."""
    with (
        balanced(target),
        peak_within(target, 2 * MEGABYTE),
        connected(target, unix) as connection,
    ):
        connection.sendall(hello(make=NEW) + HEADER.pack(length, 0, 0))
        connection.sendall(bytes(length))
        assert answer(connection) == "MALFORMED_REQUEST"


@both_sockets
@pytest.mark.parametrize("length", [1000, 900_000])
def test_a_stranger_that_goes_on_sending_is_told(target: Target, unix: bool, length: int) -> None:
    with connected(target, unix) as connection:
        connection.sendall(hello(header=NOBODY) + bytes(length))
        assert answer(connection) == "UNKNOWN_SESSION"


@both_sockets
def test_a_stranger_does_not_send_for_ever(target: Target, unix: bool) -> None:
    with connected(target, unix) as connection:
        connection.sendall(hello(header=NOBODY))
        assert flood(connection, 100 * MEGABYTE) < 20 * MEGABYTE, (
            "what the kernel buffers, and 1 MiB"
        )


@both_sockets
@pytest.mark.parametrize("header", [None, NOBODY], ids=["neither", "both"])
def test_a_hello_that_says_nothing_or_too_much_is_told(
    target: Target, unix: bool, header: pb.SessionHeader | None
) -> None:
    with connected(target, unix) as connection:
        connection.sendall(hello(header=header, make=header and NEW))
        assert answer(connection) == "MALFORMED_REQUEST"


@pytest.mark.parametrize("method", ["Reset", "Step", "Close"])
def test_a_request_without_a_header_is_told(target: Target, method: str) -> None:
    with target.attacker() as attacker:
        request = pb.CloseRequest(sequence=1).SerializeToString()
        assert attacker.begin(method, request).verdict() == "MALFORMED_REQUEST"
