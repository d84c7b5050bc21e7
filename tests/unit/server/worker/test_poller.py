"""Poller for sockets and a mailbox: neither keeps the other from being served."""

from __future__ import annotations

import itertools
import mmap
import socket
import time
from collections.abc import Callable, Iterator

import pytest

from envwire.server._worker.poller import Poller
from envwire.wire.frames import HEADER
from envwire.wire.local_channel import BOX_BYTES, AdaptiveSpin, Mailbox

SECONDS = 60.0
REQUEST = HEADER.pack(1, 0, 0) + b"r"


class Client:
    """A client with a mailbox, and the server's end of it."""

    def __init__(self) -> None:
        self.socket, self.server = socket.socketpair()
        self.server.setblocking(False)
        memory = mmap.mmap(-1, 2 * BOX_BYTES)
        Mailbox.prepare(memory, BOX_BYTES)
        self.mailbox = Mailbox(memory, BOX_BYTES, self.socket.sendall, server=False)
        self.boxes = Mailbox(memory, BOX_BYTES, self.server.sendall, server=True)

    def request(self) -> bool:
        """Sends a request; returns whether it went into the box."""
        put = self.mailbox.put(REQUEST)
        if not put:
            self.socket.sendall(REQUEST)
        return put

    def serve(self) -> None:
        """Reads a request on the server's end."""
        data = self.boxes.take() or self.server.recv(100)
        assert data == REQUEST


@pytest.fixture
def client() -> Iterator[Client]:
    made = Client()
    with made.socket, made.server:
        yield made


def spinning(clock: Callable[[], float]) -> Poller:
    """A poller whose last wait was short, so that it polls first."""
    spin = AdaptiveSpin(clock)
    spin.short = True
    return Poller(spin)


@pytest.fixture
def waiting() -> Poller:
    return spinning(time.perf_counter)


@pytest.fixture
def sleeping() -> Poller:
    """A poller that never begins with a spin."""
    return Poller(AdaptiveSpin(alone=True))


def test_a_client_that_steps_without_a_pause_keeps_no_socket_from_being_served(
    client: Client,
) -> None:
    """It serves the client's mailbox alone for a millisecond, and then polls the sockets."""
    waiting = spinning(itertools.count(1.0, 1e-4).__next__)
    steps, heard = list[bool](), list[bytes]()

    def step() -> None:
        client.serve()
        steps.append(client.request())

    ours, theirs = socket.socketpair()
    with ours, theirs:
        waiting.watch(client.server.fileno(), step, client.boxes)
        waiting.watch(ours.fileno(), lambda: heard.append(ours.recv(1)))
        client.boxes.look()
        client.request()
        theirs.sendall(b"!")
        waiting.serve()
        assert heard == [b"!"]
        theirs.sendall(b"?")
        while len(heard) < 2:
            waiting.serve()
            assert len(steps) < 20
    assert len(steps) > 5
    assert all(steps)


def test_a_client_that_puts_frames_for_ever_keeps_no_socket_from_being_served(
    sleeping: Poller, client: Client
) -> None:
    """Although it is told that this end sleeps."""
    heard, served = list[bytes](), list[bool]()
    ours, theirs = socket.socketpair()
    with ours, theirs:
        # It does not take the frame, so there is always one.
        sleeping.watch(client.server.fileno(), lambda: served.append(True), client.boxes)
        sleeping.watch(ours.fileno(), lambda: heard.append(ours.recv(1)))
        client.boxes.look()
        client.request()
        theirs.sendall(b"!")
        for _ in range(3):
            sleeping.serve()
    assert heard == [b"!"]
    assert len(served) == 2


def test_requests_are_served_wherever_they_come(waiting: Poller, client: Client) -> None:
    served = list[bool]()

    def step() -> None:
        client.serve()
        served.append(True)

    waiting.watch(client.server.fileno(), step, client.boxes)
    for count in range(20):
        client.boxes.sleep() if count % 3 else client.boxes.look()
        assert client.request() is (count % 3 == 0)
        waiting.serve()
        assert len(served) == count + 1


def test_a_request_that_comes_before_it_falls_asleep_is_served(
    sleeping: Poller, client: Client
) -> None:
    """Without a spin, and without a byte on the socket."""
    served = list[bool]()

    def step() -> None:
        client.serve()
        served.append(True)

    sleeping.watch(client.server.fileno(), step, client.boxes)
    client.boxes.look()
    assert client.request()
    sleeping.serve()
    assert served


def test_a_channel_that_waits_for_its_reader_takes_no_request(
    waiting: Poller, client: Client
) -> None:
    served, flushed = list[bool](), list[bool]()
    waiting.watch(client.server.fileno(), lambda: served.append(True), client.boxes)
    client.boxes.look()
    client.request()
    waiting.watch_writable(
        client.server.fileno(), lambda: flushed.append(True), SECONDS, lambda: None
    )
    waiting.serve()
    assert (served, flushed) == ([], [True])
    waiting.unwatch(client.server.fileno())
