"""Frames: a stream of bytes gives the same messages however it is cut."""

from __future__ import annotations

import socket
from itertools import pairwise

import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from envwire.server._ipc.frames import (
    Frame,
    FrameError,
    FrameReader,
    FrameSocket,
    Kind,
    pack_header,
)
from tests.tiers import examples


@examples(100, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.binary(max_size=50), max_size=8), st.lists(st.integers(0, 450), max_size=8))
def test_any_cut_gives_the_same_messages(messages: list[bytes], cuts: list[int]) -> None:
    frames = [Frame(Kind.REPLY, number, message) for number, message in enumerate(messages)]
    stream = b"".join(
        pack_header(Kind.REPLY, number, len(message)) + message for _, number, message in frames
    )
    edges = [0, *sorted(min(cut, len(stream)) for cut in cuts), len(stream)]
    reader = FrameReader(limit=50)
    received = [frame for start, end in pairwise(edges) for frame in reader.feed(stream[start:end])]
    assert received == frames


def test_a_message_that_is_in_no_slot_is_refused() -> None:
    with pytest.raises(FrameError, match="shared memory"):
        FrameReader(limit=50).feed(pack_header(Kind.REPLY, 0, 40, 1))


def test_a_frame_over_the_limit_is_refused_at_its_header() -> None:
    with pytest.raises(FrameError, match="51 bytes"):
        FrameReader(limit=50).feed(pack_header(Kind.REPLY, 0, 51))


@pytest.mark.parametrize("size", [0, 1, 65_535, 65_536, 3_000_000])
def test_blocking_sockets_carry_any_size(size: int) -> None:
    from threading import Thread

    left, right = socket.socketpair()
    with left, right:
        message = bytes(size)
        sender = Thread(
            target=FrameSocket(left).send, args=(Kind.REPLY, 7, [message[:9], message[9:]])
        )
        sender.start()
        frames = FrameSocket(right)
        assert frames.receive() == (Kind.REPLY, 7, message)
        sender.join()
        for each in (b"two", b"in one go"):
            FrameSocket(left).send(Kind.CLIENT, 1, [each])
        assert frames.receive() == (Kind.CLIENT, 1, b"two")
        assert frames.waiting
        assert frames.receive() == (Kind.CLIENT, 1, b"in one go")
        assert not frames.waiting
        left.close()
        assert frames.receive() is None


@pytest.mark.parametrize(
    "sent",
    [
        pack_header(Kind.REPLY, 0, 3),
        pack_header(Kind.REPLY, 0, 3) + b"ab",
        pack_header(Kind.REPLY, 0, 3)[:2],
    ],
)
def test_an_end_inside_a_frame_is_an_error(sent: bytes) -> None:
    left, right = socket.socketpair()
    with right:
        with left:
            left.sendall(sent)
        with pytest.raises(FrameError, match="ended"):
            FrameSocket(right).receive()
