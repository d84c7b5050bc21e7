"""Replies that arrive in pieces of any size, without a wait."""

from __future__ import annotations

import random
import socket
from collections.abc import Iterator
from itertools import pairwise

import numpy as np
import pytest

from envwire.client._transports.direct.direct_channel import Channel
from envwire.wire.frames import HEADER, HEADER_BYTES, Reply

Ends = tuple[Channel, socket.socket]


@pytest.fixture
def ends() -> Iterator[Ends]:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        yield Channel(ours), theirs


def frame(message: bytes, attached: bytes = b"") -> bytes:
    return HEADER.pack(len(message), 0, len(attached)) + message + attached


def received(reader: Channel) -> Reply | None:
    try:
        return reader.read_reply(socket.MSG_DONTWAIT)
    except BlockingIOError:
        return None


@pytest.mark.parametrize(
    ("length", "attached"), [(0, 0), (1, 0), (100, 0), (9000, 0), (0, 7), (50, 5000), (6000, 70000)]
)
def test_any_reply_in_any_pieces(ends: Ends, length: int, attached: int) -> None:
    reader, peer = ends
    dice = random.Random(length + attached)
    for _ in range(20):
        message, area = dice.randbytes(length), dice.randbytes(attached)
        data = frame(message, area)
        cuts = sorted({0, len(data), *(dice.randrange(len(data) + 1) for _ in range(5))})
        reply = None
        for begin, end in pairwise(cuts):
            assert reply is None
            peer.sendall(data[begin:end])
            for _ in range(40):
                reply = reply or received(reader)
        assert reply is not None
        assert reply.message == message
        got = b"" if reply.area is None else np.asarray(reply.area).tobytes()
        assert got == area


@pytest.mark.parametrize(
    ("first", "second", "cut"),
    [(b"first", b"longer than that", HEADER_BYTES + 5), (b"", bytes(8), 8)],
)
def test_a_part_of_a_reply_that_resembles_the_last_one_is_none(
    ends: Ends, first: bytes, second: bytes, cut: int
) -> None:
    reader, peer = ends
    peer.sendall(frame(first))
    assert received(reader) == Reply(first)
    peer.sendall(frame(second)[:cut])
    assert received(reader) is None
    peer.sendall(frame(second)[cut:])
    assert received(reader) == Reply(second)


def test_nothing_there_is_no_wait(ends: Ends) -> None:
    with pytest.raises(BlockingIOError):
        ends[0].read_reply(socket.MSG_DONTWAIT)


@pytest.mark.parametrize("sent", [b"", frame(b"abc")[:10], frame(b"abc")[:-1]])
def test_a_connection_that_ends(ends: Ends, sent: bytes) -> None:
    reader, peer = ends
    if sent:
        peer.sendall(sent)
        assert received(reader) is None
    peer.close()
    with pytest.raises(ConnectionResetError):
        reader.read_reply(socket.MSG_DONTWAIT)


def test_more_than_a_reply_and_replies_beyond_the_limit_are_refused(ends: Ends) -> None:
    reader, peer = ends
    peer.sendall(frame(b"abc") + b"x")
    with pytest.raises(ConnectionResetError, match="not a frame"):
        reader.read_reply(socket.MSG_DONTWAIT)
    peer.sendall(HEADER.pack(2**31, 0, 0))
    with pytest.raises(ConnectionResetError, match="not a frame"):
        reader.read_reply(socket.MSG_DONTWAIT)
