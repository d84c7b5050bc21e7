"""The session's end of a direct channel: however requests are cut they come out whole, and replies go out in parts."""

from __future__ import annotations

import mmap
import select
import socket
from collections.abc import Iterator
from itertools import pairwise
from threading import Thread
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from envwire.server._worker.direct.channel import Channel, ChannelError
from envwire.server._worker.direct.shared_memory import Boxes
from envwire.v1 import direct_pb2
from envwire.wire.frames import ALIGNMENT, HEADER, HEADER_BYTES, Attachments, Packet
from envwire.wire.local_channel import BOX_BYTES, ORDERED, WAKE, Mailbox
from tests.tiers import examples

LIMIT = 50
Pair = tuple[Channel, socket.socket]
Boxed = tuple[Channel, socket.socket, Mailbox]
needs_mailboxes = pytest.mark.skipif(not ORDERED, reason="no mailboxes on this machine")


def frame(message: bytes) -> bytes:
    return HEADER.pack(len(message), 0, 0) + message


def make_pair() -> Pair:
    ours, theirs = socket.socketpair()
    return Channel(ours, LIMIT), theirs


@pytest.fixture
def pair() -> Iterator[Pair]:
    channel, client = make_pair()
    with client:
        yield channel, client
    channel.close()


@examples(100)
@given(st.lists(st.binary(max_size=LIMIT), max_size=8), st.lists(st.integers(0, 500), max_size=8))
def test_any_cut_gives_the_same_requests(messages: list[bytes], cuts: list[int]) -> None:
    stream = b"".join(map(frame, messages))
    edges = [0, *sorted(min(cut, len(stream)) for cut in cuts), len(stream)]
    channel, client = make_pair()
    received: list[bytes] = []
    with client:
        for start, end in pairwise(edges):
            client.sendall(stream[start:end])
            received += channel.receive()
    channel.close()
    assert received == messages


def test_every_single_byte_may_come_alone(pair: Pair) -> None:
    channel, client = pair
    received: list[bytes] = []
    for byte in frame(b"one") + frame(b"") + frame(b"three"):
        client.sendall(bytes((byte,)))
        received += channel.receive()
    assert received == [b"one", b"", b"three"]


@pytest.mark.parametrize(
    ("first", "second", "cut"),
    [(b"first", b"longer than that", HEADER_BYTES + 5), (b"", bytes(8), 8)],
)
def test_a_part_of_a_request_that_resembles_the_last_one_is_none(
    pair: Pair, first: bytes, second: bytes, cut: int
) -> None:
    channel, client = pair
    client.sendall(frame(first))
    assert channel.receive() == [first]
    client.sendall(frame(second)[:cut])
    assert channel.receive() == []
    client.sendall(frame(second)[cut:])
    assert channel.receive() == [second]


def test_nothing_to_read_is_no_request_and_no_end(pair: Pair) -> None:
    assert pair[0].receive() == []


def test_requests_before_a_broken_one_are_not_served(pair: Pair) -> None:
    channel, client = pair
    client.sendall(frame(b"fine") + HEADER.pack(LIMIT + 1, 0, 0))
    with pytest.raises(ChannelError, match="51"):
        channel.receive()


@pytest.mark.parametrize(
    ("length", "where", "attached"),
    [(LIMIT + 1, 0, 0), (1, 1, 0), (1, 0, 1), (2**32 - 1, 7, 2**64 - 1)],
)
@pytest.mark.parametrize("cut", [0, 5])
def test_what_is_no_request_is_refused_at_its_header(
    pair: Pair, length: int, where: int, attached: int, cut: int
) -> None:
    channel, client = pair
    header = HEADER.pack(length, where, attached)
    if cut:
        client.sendall(header[:cut])
        assert channel.receive() == []
    client.sendall(header[cut:])
    with pytest.raises(ChannelError, match=f"{length} \\+ {attached} bytes at {where}"):
        channel.receive()


@pytest.mark.parametrize("sent", [b"", b"\1", frame(b"abc")[:-1]])
def test_an_end_is_told_wherever_it_comes(pair: Pair, sent: bytes) -> None:
    channel, client = pair
    client.sendall(sent)
    client.shutdown(socket.SHUT_WR)
    if sent:
        assert channel.receive() == []
    with pytest.raises(ChannelError, match="closed the connection"):
        channel.receive()


def read(client: socket.socket) -> tuple[bytes, bytes]:
    """Returns the message and the attachments of the next frame."""
    with client.makefile("rb") as file:
        length, where, attached = HEADER.unpack(file.read(HEADER_BYTES))
        assert where == 0
        return file.read(length), file.read(attached)


def attachments_of(*arrays: Any) -> tuple[Attachments, bytes]:
    """Returns attachments, and the bytes that must arrive."""
    attachments, expected = Attachments(), b""
    for array in arrays:
        offset = attachments.add(array)
        expected += bytes(offset - len(expected)) + array.tobytes()
        assert offset % ALIGNMENT == 0
    return attachments, expected


def send_all(channel: Channel, packet: Packet) -> None:
    """Sends a reply, and waits for its reader as a session process does."""
    channel.send(packet)
    while channel.unsent:
        select.select([], [channel], [], 10.0)
        channel.flush()


# The last has more buffers than one call takes; the one before it is larger than any socket's buffer.
@pytest.mark.parametrize(
    ("count", "size"), [(0, 0), (1, 5000), (3, 5001), (2, 3_000_001), (700, 4097)]
)
def test_replies_arrive_whole(pair: Pair, count: int, size: int) -> None:
    channel, client = pair
    rng = np.random.default_rng(count)
    arrays = [rng.integers(0, 255, size, np.uint8) for _ in range(count)]
    attachments, expected = attachments_of(*arrays)
    sender = Thread(target=send_all, args=(channel, Packet(b"message", attachments)))
    sender.start()
    assert read(client) == (b"message", expected)
    sender.join()


class Short(socket.socket):
    """A socket whose gathering calls end early, as a signal may end them."""

    most = 0

    def sendmsg(self, buffers: Any, *_: Any) -> int:
        return super().send(b"".join(buffers)[: self.most])


@pytest.mark.parametrize("most", [1, 22, 23, 24, 5000, 5023, 5024, 5100, 15_000])
def test_replies_arrive_whole_though_a_call_ends_early(most: int) -> None:
    ours, client = socket.socketpair()
    short = Short(fileno=ours.detach())
    short.most = most
    channel = Channel(short, LIMIT)
    attachments, expected = attachments_of(*(np.full(5001, n, np.uint8) for n in (1, 2, 3)))
    with client:
        sender = Thread(target=send_all, args=(channel, Packet(b"message", attachments)))
        sender.start()
        assert read(client) == (b"message", expected)
        sender.join()
    channel.close()


def test_arrays_of_any_layout_are_gathered(pair: Pair) -> None:
    channel, client = pair
    row: Any = np.arange(6000, dtype=np.int16)
    grid = row.reshape(60, 100)
    for array in (grid.T, grid[::-2], np.asfortranarray(grid)):
        channel.send(Packet(b"", attachments_of(array)[0]))
        assert read(client)[1] == array.tobytes()


def test_a_reader_that_does_not_read_holds_up_nobody(pair: Pair) -> None:
    channel, client = pair
    large = np.arange(30_000_000, dtype=np.uint8)
    channel.send(Packet(b"message", attachments_of(large)[0]))
    assert channel.unsent
    channel.flush()
    assert channel.unsent
    expected = large.tobytes()
    channel.keep_unsent()
    large[:] = 0
    rest = Thread(target=channel.finish, args=(10.0,))
    rest.start()
    assert read(client) == (b"message", expected), "what it was when it was sent"
    rest.join()


def test_a_small_reply_to_a_reader_that_does_not_read_is_kept(pair: Pair) -> None:
    channel, client = pair
    replies = 0
    while not channel.unsent:
        channel.send(Packet(bytes((replies % 256,)) * 1000))
        replies += 1
    rest = Thread(target=channel.finish, args=(10.0,))
    rest.start()
    for number in range(replies):
        assert read_exactly(client, HEADER_BYTES + 1000)[-1] == number % 256
    rest.join()


def read_exactly(client: socket.socket, size: int) -> bytes:
    return client.recv(size, socket.MSG_WAITALL)


def test_a_last_reply_is_not_waited_for_longer_than_it_may_take(pair: Pair) -> None:
    channel, client = pair
    channel.send(Packet(b"", attachments_of(np.zeros(30_000_000, np.uint8))[0]))
    channel.finish(0.01)
    client.setblocking(True)
    while client.recv(1 << 20):
        pass


def test_a_reader_that_is_gone_is_told(pair: Pair) -> None:
    channel, client = pair
    client.close()
    with pytest.raises(ChannelError):
        channel.send(Packet(bytes(100)))


def test_the_welcome_tells_the_limit(pair: Pair) -> None:
    channel, client = pair
    channel.welcome(LIMIT)
    response = direct_pb2.HelloResponse.FromString(read(client)[0])
    assert response.welcome == direct_pb2.Welcome(max_message_bytes=LIMIT)


@pytest.fixture
def boxed() -> Iterator[Boxed]:
    """A channel with a mailbox, and the client's ends of both."""
    ours, theirs = socket.socketpair()
    boxes = Boxes()
    channel = Channel(ours, LIMIT, None, boxes)
    with theirs, mmap.mmap(boxes.descriptor, 2 * BOX_BYTES) as memory:
        yield channel, theirs, Mailbox(memory, BOX_BYTES, theirs.sendall, server=False)
    channel.close()


def put(channel: Channel, mailbox: Mailbox, data: bytes) -> None:
    assert channel.mailbox is not None
    channel.mailbox.look()
    assert mailbox.put(data)


@needs_mailboxes
def test_a_request_in_the_box_is_whole_though_half_a_wake_came(boxed: Boxed) -> None:
    channel, client, mailbox = boxed
    for message in (b"first", b"other", b"a longer one", b"x"):
        client.sendall(WAKE[:7])
        assert channel.receive() == []
        put(channel, mailbox, frame(message))
        assert channel.receive() == [message]
        client.sendall(WAKE[7:] + frame(message))
        assert channel.receive() == [message]


@needs_mailboxes
def test_an_empty_frame_is_a_wake_on_the_socket_only(boxed: Boxed) -> None:
    channel, client, mailbox = boxed
    for message in (b"first", b"other"):
        put(channel, mailbox, frame(message))
        assert channel.receive() == [message]
        client.sendall(WAKE)
        assert channel.receive() == []
    put(channel, mailbox, WAKE)
    with pytest.raises(ChannelError):
        channel.receive()


@needs_mailboxes
@pytest.mark.parametrize(
    "header", [HEADER.pack(LIMIT + 1, 0, 0), HEADER.pack(4, 1, 0), HEADER.pack(2**32 - 1, 0, 0)]
)
def test_a_frame_in_the_box_is_bounded(boxed: Boxed, header: bytes) -> None:
    channel, _, mailbox = boxed
    put(channel, mailbox, header + bytes(4))
    with pytest.raises(ChannelError):
        channel.receive()


@needs_mailboxes
def test_a_frame_that_changes_while_it_is_read_ends_the_channel(
    boxed: Boxed, monkeypatch: pytest.MonkeyPatch
) -> None:
    channel, _, mailbox = boxed
    put(channel, mailbox, frame(b"whole"))
    monkeypatch.setattr(Mailbox, "take", lambda _: frame(b"whole")[:-1])
    with pytest.raises(ChannelError, match="changed"):
        channel.receive()
