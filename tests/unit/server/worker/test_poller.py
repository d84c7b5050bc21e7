"""Poller for sockets and a mailbox: neither keeps the other from being served."""

from __future__ import annotations

import mmap
import socket
import time
from collections.abc import Callable, Iterator

import pytest

from envwire.server._worker.poller import Poller
from envwire.wire.frames import HEADER
from envwire.wire.local_channel import BOX_BYTES, AdaptiveSpin, Mailbox

SECONDS = 10.0
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


def serve_until(waiting: Poller, condition: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + SECONDS
    while not condition() and time.monotonic() < deadline:
        waiting.serve()
    return condition()


@pytest.fixture
def waiting(monkeypatch: pytest.MonkeyPatch) -> Poller:
    """A poller whose last wait was short, so that it polls first."""
    made = Poller()
    monkeypatch.setattr(made._spin, "short", True)
    return made


def test_a_client_that_steps_without_a_pause_keeps_no_socket_from_being_served(
    waiting: Poller, client: Client
) -> None:
    ways, heard = list[bool](), list[bytes]()

    def step() -> None:
        client.serve()
        ways.append(client.request())

    ours, theirs = socket.socketpair()
    with ours, theirs:
        waiting.watch(client.server.fileno(), step, client.boxes)
        waiting.watch(ours.fileno(), lambda: heard.append(ours.recv(1)))
        client.boxes.look()
        client.request()
        theirs.sendall(b"!")
        assert serve_until(waiting, lambda: bool(heard))
        theirs.sendall(b"?")
        assert serve_until(waiting, lambda: len(heard) == 2)
    assert any(ways)


def test_a_client_that_puts_frames_for_ever_keeps_no_socket_from_being_served(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Although it is told that this end sleeps."""
    waiting, heard, served = Poller(), list[bytes](), list[bool]()
    monkeypatch.setattr(AdaptiveSpin, "begin", lambda _: False)
    monkeypatch.setattr(Mailbox, "sleep", lambda _: True)
    ours, theirs = socket.socketpair()
    with ours, theirs:
        waiting.watch(client.server.fileno(), lambda: served.append(True), client.boxes)
        waiting.watch(ours.fileno(), lambda: heard.append(ours.recv(1)))
        theirs.sendall(b"!")
        for _ in range(3):
            waiting.serve()
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
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a spin, and without a byte on the socket."""
    waiting, served = Poller(), list[bool]()
    monkeypatch.setattr(AdaptiveSpin, "begin", lambda _: False)

    def step() -> None:
        client.serve()
        served.append(True)

    waiting.watch(client.server.fileno(), step, client.boxes)
    client.boxes.look()
    assert client.request()
    waiting.serve()
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
