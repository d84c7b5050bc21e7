"""The client's end of a direct channel: however replies are cut and however well guessed, they arrive."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Iterator
from contextlib import closing
from threading import Event, Thread
from typing import Any

import numpy as np
import pytest

from envwire.client._transports.direct.direct_channel import Channel, TimedChannel
from envwire.v1 import direct_pb2
from envwire.wire.frames import HEADER, HEADER_BYTES, PREAMBLE, Reply
from tests.secured import certificates

SECONDS = 60.0
LIMIT = 2**23
Pair = tuple[Channel, socket.socket]


def frame(
    message: bytes, attached: bytes = b"", where: int = 0, length: int | None = None
) -> bytes:
    return (
        HEADER.pack(len(message), where, len(attached) if length is None else length)
        + message
        + attached
    )


def welcome() -> bytes:
    response = direct_pb2.HelloResponse(welcome=direct_pb2.Welcome(max_message_bytes=LIMIT))
    return frame(response.SerializeToString())


def make_plain() -> Pair:
    ours, theirs = socket.socketpair()
    return Channel(ours), theirs


def make_tls() -> Pair:
    """Returns a channel with TLS and the server's end of it."""
    ours, theirs = socket.socketpair()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    there = certificates()
    context.load_cert_chain(there.path("server"), there.path("server-key"))
    accepted: list[socket.socket] = []
    server = Thread(target=lambda: accepted.append(context.wrap_socket(theirs, server_side=True)))
    server.start()
    trusting = ssl.create_default_context(cafile=str(there.path("ca")))
    channel = TimedChannel(trusting.wrap_socket(ours, server_hostname="localhost"))
    server.join()
    return channel, accepted[0]


MAKERS = {"plain": make_plain, "TLS": make_tls}


@pytest.fixture(params=MAKERS)
def pair(request: pytest.FixtureRequest) -> Iterator[Pair]:
    """A channel whose hello was answered, and the server's end of it."""
    channel, server = MAKERS[request.param]()
    with server:
        server.sendall(welcome())
        assert channel.greet(b"hello", SECONDS).welcome.max_message_bytes == LIMIT
        expected = PREAMBLE + frame(b"hello")
        assert server.recv(len(expected), socket.MSG_WAITALL if request.param == "plain" else 0)
        yield channel, server
    channel.close()


@pytest.fixture
def plain() -> Iterator[Pair]:
    channel, server = make_plain()
    with server:
        yield channel, server
    channel.close()


def shown(reply: Reply) -> tuple[bytes, bytes]:
    return reply.message, b"" if reply.area is None else reply.area.tobytes()


def pattern(length: int) -> bytes:
    return (bytes(range(1, 252)) * (length // 251 + 1))[:length]


def exchange(pair: Pair, stream: bytes) -> tuple[bytes, bytes]:
    """Sends a request, answers it, and returns message and attachments as they arrived."""
    channel, server = pair
    channel.send(b"request", SECONDS)
    sender = Thread(target=server.sendall, args=(stream,))
    sender.start()
    reply = channel.receive()
    sender.join()
    return shown(reply)


ATTACHED = pattern(40)


def cuts_of(stream: bytes) -> Iterator[tuple[bytes, bytes]]:
    yield from ((stream[:cut], stream[cut:]) for cut in range(1, len(stream)))


def receive_while(channel: Channel, server: socket.socket, late: bytes) -> Reply:
    """Receives a reply whose end is sent only while `receive` waits for it."""
    received: list[Reply] = []
    reader = Thread(target=lambda: received.append(channel.receive()))
    reader.start()
    server.sendall(late)
    reader.join()
    return received[0]


@pytest.mark.parametrize("known", [False, True], ids=["unlike the last", "like the last"])
@pytest.mark.parametrize("apart", [False, True], ids=["at once", "apart"])
def test_a_reply_may_be_cut_at_any_byte(known: bool, apart: bool) -> None:
    stream = frame(b"message", ATTACHED)
    for first, second in cuts_of(stream):
        channel, server = make_plain()
        with server:
            if known:
                assert exchange((channel, server), stream) == (b"message", ATTACHED)
            channel.send(b"request", SECONDS)
            server.sendall(first)
            if not apart:
                server.sendall(second)
            reply = receive_while(channel, server, second if apart else b"")
            assert shown(reply) == (b"message", ATTACHED)
        channel.close()


REPLIES = [
    (b"", b""),
    (b"a", b""),
    (b"message", pattern(5000)),
    (b"message", pattern(5001)),
    (b"massage", pattern(5001)),
    (b"longer message", pattern(4999)),
    (b"m", pattern(300_000)),
    (pattern(100_000), pattern(100_000)),
    (pattern(4096 - HEADER_BYTES), b""),
    (pattern(4097 - HEADER_BYTES), b""),
]


@pytest.mark.parametrize("last", REPLIES, ids=lambda reply: f"{len(reply[0])}+{len(reply[1])}")
def test_any_reply_may_follow_any_other(pair: Pair, last: tuple[bytes, bytes]) -> None:
    for reply in REPLIES:
        assert exchange(pair, frame(*last)) == last
        assert exchange(pair, frame(*reply)) == reply


def test_a_frame_that_fills_the_guess_exactly_but_is_another(pair: Pair) -> None:
    """As many bytes as were guessed, divided differently between message and attachments."""
    assert exchange(pair, frame(b"12345678", pattern(5000))) == (b"12345678", pattern(5000))
    assert exchange(pair, frame(b"1234567", pattern(5001))) == (b"1234567", pattern(5001))
    assert exchange(pair, frame(b"x" * 5008)) == (b"x" * 5008, b"")


def test_arrays_over_one_reply_are_not_touched_by_the_next(pair: Pair) -> None:
    channel, server = pair
    areas: list[Any] = []
    for value in range(5):
        channel.send(b"", SECONDS)
        server.sendall(frame(b"same", bytes((value,)) * 5000))
        areas.append(channel.receive().area)
    assert [set(area.tobytes()) for area in areas] == [{value} for value in range(5)]


@pytest.mark.parametrize("known", [False, True])
def test_attachments_of_the_right_length_go_where_they_are_asked_for(
    pair: Pair, known: bool
) -> None:
    channel, server = pair
    if known:
        exchange(pair, frame(b"same", pattern(5000)))
    batch = np.zeros((2, 5000), np.uint8)
    for length, fits in ((5000, True), (5001, False), (4999, False)):
        channel.buffer = batch[1]
        channel.send(b"", SECONDS)
        server.sendall(frame(b"same", b"\7" * length))
        area = channel.receive().area
        assert area is not None
        assert area.tobytes() == b"\7" * length
        assert np.shares_memory(area, batch) == fits
    assert batch.sum() == 7 * 5000


def test_no_reply_in_time_is_told_and_another_time_may_be_set(pair: Pair) -> None:
    channel, server = pair
    for seconds in (0.01, 1e-9, 0.02):
        channel.send(b"", seconds)
        with pytest.raises((BlockingIOError, TimeoutError)):
            channel.receive()
    channel.send(b"", float("inf"))
    server.sendall(frame(b"late"))
    assert channel.receive().message == b"late"


@pytest.mark.parametrize("known", [False, True])
@pytest.mark.parametrize(
    "cut", [0, 7, HEADER_BYTES, HEADER_BYTES + 3, HEADER_BYTES + 7, HEADER_BYTES + 5000]
)
def test_an_end_inside_a_frame_is_told(pair: Pair, known: bool, cut: int) -> None:
    channel, server = pair
    stream = frame(b"message", pattern(5000))
    if known:
        exchange(pair, stream)
    channel.send(b"", SECONDS)
    server.sendall(stream[:cut])
    server.shutdown(socket.SHUT_RDWR)
    with pytest.raises(OSError, match=r"closed|ended|EOF"):
        channel.receive()


GARBAGE = {
    "an HTTP server": b"HTTP/1.1 400 Bad Request\r\n\r\n",
    "an endless message": HEADER.pack(2**32 - 1, 0, 0),
    "endless attachments": HEADER.pack(1, 0, 2**64 - 1) + b"x",
    "more than one frame": frame(b"one") + b"x",
    "more attachments than told": frame(b"one", b"12345", length=3),
    "memory that is not shared": frame(b"one", where=1, length=100),
}


@pytest.mark.parametrize("garbage", GARBAGE.values(), ids=GARBAGE)
@pytest.mark.parametrize("greeted", [True, False])
def test_what_is_no_frame_is_a_broken_connection(
    plain: Pair, garbage: bytes, greeted: bool
) -> None:
    channel, server = plain
    if greeted:
        server.sendall(welcome())
        channel.greet(b"hello", SECONDS)
        channel.send(b"", SECONDS)
    server.sendall(garbage)
    with pytest.raises(OSError, match=r"not a frame|does not share"):
        channel.receive() if greeted else channel.greet(b"hello", SECONDS)


def test_an_answer_to_the_hello_that_cannot_be_read(plain: Pair) -> None:
    plain[1].sendall(frame(b"\xff\xff"))
    with pytest.raises(OSError, match="not an answer to a hello"):
        plain[0].greet(b"hello", SECONDS)


def test_nobody_answers_the_hello(plain: Pair) -> None:
    with pytest.raises(BlockingIOError):
        plain[0].greet(b"hello", 0.01)


@pytest.mark.parametrize("cut", range(0, len(welcome()), 5))
def test_an_end_inside_the_welcome(plain: Pair, cut: int) -> None:
    plain[1].sendall(welcome()[:cut])
    plain[1].shutdown(socket.SHUT_WR)
    with pytest.raises(OSError, match=r"closed|ended"):
        plain[0].greet(b"hello", SECONDS)


def test_a_channel_that_nobody_holds_is_closed() -> None:
    channel, server = make_plain()
    with server:
        del channel
        assert server.recv(1) == b""


def test_large_arrays_are_received_where_they_stay(plain: Pair) -> None:
    """The area is memory of its own, which nothing else refers to."""
    exchange(plain, frame(b"m", pattern(5000)))
    plain[0].send(b"", SECONDS)
    plain[1].sendall(frame(b"m", pattern(5000)))
    area = plain[0].receive().area
    assert area is not None
    assert area.base is None
    assert area.flags.owndata
    assert area.flags.writeable
    assert np.array_equal(area, np.frombuffer(pattern(5000), np.uint8))


def test_a_server_that_reads_slowly_holds_nobody_beyond_the_timeout(pair: Pair) -> None:
    """The kernel, and Python's TLS, begin a new timeout with each part that they send."""
    channel, server = pair
    over = Event()

    def read() -> None:
        while not over.wait(0.05):
            server.recv(2**16)

    reader = Thread(target=read)
    reader.start()
    try:
        with pytest.raises((BlockingIOError, TimeoutError)):
            channel.send(bytes(LIMIT), 0.5)
    finally:
        over.set()
        reader.join()


def test_a_make_is_one_packet() -> None:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with closing(Channel(ours)) as channel, theirs:
        theirs.sendall(frame(direct_pb2.HelloResponse(error={}).SerializeToString()))
        channel.make(b"hello", b"request", SECONDS)
        assert theirs.recv(LIMIT) == PREAMBLE + frame(b"hello") + frame(b"request")
