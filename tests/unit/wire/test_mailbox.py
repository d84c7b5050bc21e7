"""Mailboxes: frames arrive unchanged, and no reader sleeps while a frame is in its box."""

from __future__ import annotations

import mmap
import os
import random
import select
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from envwire.wire.frames import HEADER, HEADER_BYTES
from envwire.wire.local_channel import BOX_BYTES, WAKE, AdaptiveSpin, Mailbox

MOST = BOX_BYTES - 16
ROUNDS = 20_000


class Ends(NamedTuple):
    client: Mailbox
    server: Mailbox
    memory: mmap.mmap
    wakes: list[bytes]


def frame(message: bytes) -> bytes:
    return HEADER.pack(len(message), 0, 0) + message


@pytest.fixture
def ends() -> Ends:
    memory, wakes = mmap.mmap(-1, 2 * BOX_BYTES), list[bytes]()
    Mailbox.prepare(memory, BOX_BYTES)
    client, server = (
        Mailbox(memory, BOX_BYTES, wakes.append, server=server) for server in (False, True)
    )
    return Ends(client, server, memory, wakes)


def test_a_sleeping_reader_gets_its_frames_on_the_socket(ends: Ends) -> None:
    assert not ends.client.put(frame(b"step"))
    assert not ends.server.take()
    assert not ends.server.look()
    assert ends.client.put(frame(b"step"))
    assert ends.server.take() == frame(b"step")
    assert not ends.server.take()
    assert not ends.server.sleep()
    assert not ends.client.put(frame(b"step"))
    assert ends.wakes == []


@settings(derandomize=True, max_examples=50, deadline=None)
@given(st.lists(st.binary(min_size=1, max_size=MOST - HEADER_BYTES), min_size=1, max_size=20))
def test_frames_of_any_length_come_out_as_they_went_in(messages: list[bytes]) -> None:
    memory = mmap.mmap(-1, 2 * BOX_BYTES)
    client = Mailbox(memory, BOX_BYTES, print, server=False)
    server = Mailbox(memory, BOX_BYTES, print, server=True)
    for message in messages:
        for one, other in ((client, server), (server, client)):
            assert not other.look()
            assert one.put(frame(message))
            assert other.look()
            assert other.take() == frame(message)


def test_the_number_of_frames_wraps(ends: Ends) -> None:
    ends.server.look()
    for count in range(600):
        assert ends.client.put(frame(b"%d" % count))
        assert ends.server.look()
        assert ends.server.take() == frame(b"%d" % count)
    assert not ends.server.look()


def test_a_frame_that_is_larger_than_the_box_goes_on_the_socket(ends: Ends) -> None:
    ends.server.look()
    assert not ends.client.put(frame(bytes(MOST - HEADER_BYTES + 1)))
    assert ends.client.put(frame(bytes(MOST - HEADER_BYTES)))


def test_a_reader_that_falls_asleep_meanwhile_is_woken(
    ends: Ends, monkeypatch: pytest.MonkeyPatch
) -> None:
    @contextmanager
    def falling_asleep() -> Iterator[None]:
        ends.memory[1] = 1  # it looked before the number was there
        yield

    ends.server.look()
    with monkeypatch.context() as patch:
        patch.setattr(ends.client, "_barrier", falling_asleep())
        assert ends.client.put(frame(b"step"))
    assert ends.wakes == [WAKE]
    assert ends.server.take() == frame(b"step")


def test_a_reader_that_goes_to_sleep_looks_once_more(ends: Ends) -> None:
    ends.server.look()
    ends.client.put(frame(b"step"))
    assert ends.server.sleep()


@pytest.mark.parametrize("length", [0, MOST - HEADER_BYTES + 1, 2**32 - 1])
def test_what_is_no_frame_ends_the_connection(ends: Ends, length: int) -> None:
    for reader, writer in ((ends.server, ends.client), (ends.client, ends.server)):
        reader.look()
        writer.put(HEADER.pack(length, 0, 0))
        with pytest.raises(ConnectionResetError, match="not a frame"):
            reader.take()


def exchange(box: Mailbox, sock: socket.socket, *, first: bool, seed: int) -> None:
    """Sends a frame and awaits the next, over and over, with pauses that let both ends fall asleep at any point."""
    chance, spin, poll = random.Random(seed), AdaptiveSpin(alone=False), select.poll()
    poll.register(sock, select.POLLIN)

    def wait() -> bytes:
        slept = not spin.poll(lambda timeout: box.look() or poll.poll(timeout))
        found = slept and box.sleep()
        data = WAKE
        while data == WAKE:
            data = box.take()
            if not data:
                assert not found
                assert poll.poll(10_000), "asleep beside its frame"
                data = sock.recv(BOX_BYTES)
        if slept:
            spin.woke()
        return data.removeprefix(WAKE)

    for count in range(ROUNDS):
        if not first:
            assert wait() == frame(b"%d" % count)
        if chance.random() < 0.01:
            poll.poll(chance.choice((0, 1)))
        if not box.put(frame(b"%d" % count)):
            sock.sendall(frame(b"%d" % count))
        if first:
            assert wait() == frame(b"%d" % count)


@pytest.mark.serial  # beside busy neighbours its rounds take minutes
def test_no_frame_is_lost_between_two_processes() -> None:
    memory, (ours, theirs) = mmap.mmap(-1, 2 * BOX_BYTES), socket.socketpair()
    Mailbox.prepare(memory, BOX_BYTES)
    made = partial(Mailbox, memory, BOX_BYTES)
    child = os.fork()
    if not child:
        try:
            exchange(made(theirs.sendall, server=True), theirs, first=False, seed=1)
        except BaseException:
            os._exit(1)
        os._exit(0)
    with ours, theirs:
        exchange(made(ours.sendall, server=False), ours, first=True, seed=2)
        assert os.waitpid(child, 0)[1] == 0
