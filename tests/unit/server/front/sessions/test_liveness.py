"""When a session's lease and deadline run, and when its process is probed, by a clock of the test."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from envwire.server._front.sessions.liveness import (
    UNREAD_SECONDS,
    ConnectionMonitor,
    SessionLiveness,
)

LEASE, TIMEOUT = 60.0, 120.0


class Process:
    """A process whose scoreboard the test writes."""

    def __init__(self) -> None:
        self.count, self.since = 0, 0.0
        self.others = False
        self.scoreboard = SimpleNamespace(
            served=lambda _: self.count, busy_for=lambda _: self.since
        )

    def busy_with_others(self, _: object) -> bool:
        """Returns whether it serves another of its sessions."""
        return self.others


class Scene:
    """A session with a direct channel over a pair of sockets."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.process = Process()
        link: Any = SimpleNamespace(slot=0)
        process: Any = self.process
        self.seen = SessionLiveness(process, link, lambda: self.now, LEASE, TIMEOUT)
        self.client, self.server = socket.socketpair()

    def connect(self) -> None:
        self.seen.connect(ConnectionMonitor(self.server))

    def after(self, seconds: float) -> bool:
        """Returns whether the process is probed after some time."""
        self.now += seconds
        return self.seen.update()


@pytest.fixture
def scene() -> Iterator[Scene]:
    made = Scene()
    yield made
    made.seen.disconnect()
    made.client.close()
    made.server.close()


def test_the_lease_of_a_connected_client_does_not_run(scene: Scene) -> None:
    scene.connect()
    scene.after(2 * LEASE)
    assert not scene.seen.expired(scene.now)
    assert scene.seen.attached
    scene.client.close()
    scene.after(LEASE / 2)
    assert not scene.seen.attached
    assert not scene.seen.expired(scene.now), "it runs from the last time that the client was seen"
    scene.after(LEASE)
    assert scene.seen.expired(scene.now)


def test_the_client_is_present_by_one_stream_and_by_a_request(scene: Scene) -> None:
    assert not scene.seen.attached
    scene.seen.streams = 1
    assert scene.seen.attached
    scene.seen.streams = 0
    scene.process.since = 0.1
    assert scene.seen.attached


def test_a_process_with_nothing_to_do_is_probed_after_the_longest_request_only(
    scene: Scene,
) -> None:
    scene.connect()
    assert not scene.after(10 * UNREAD_SECONDS)
    assert not scene.after(TIMEOUT / 2)
    assert scene.after(TIMEOUT)
    scene.process.count += 1
    assert not scene.after(TIMEOUT + 1.0), "it served a request meanwhile"


@pytest.mark.parametrize("others", [False, True])
def test_a_process_that_leaves_requests_unread_is_probed_unless_it_serves_others(
    scene: Scene, others: bool
) -> None:
    scene.connect()
    scene.process.others = others
    scene.client.send(b"a request")
    assert not scene.after(1.0), "seen for the first time"
    assert scene.after(2 * UNREAD_SECONDS) is not others
    scene.process.since = 0.1
    assert not scene.after(2 * UNREAD_SECONDS), "it serves one"


def test_a_request_has_its_time_once_the_process_is_free_for_it(scene: Scene) -> None:
    scene.seen.asked()
    scene.process.others = True
    scene.after(2 * TIMEOUT)
    assert not scene.seen.overdue(scene.now)
    scene.process.others = False
    scene.after(TIMEOUT / 2)
    assert not scene.seen.overdue(scene.now)
    scene.after(TIMEOUT)
    assert scene.seen.overdue(scene.now)


def test_the_connection_is_watched_where_the_client_is_and_read_where_the_process_is() -> None:
    (client, outer), (inner, process) = socket.socketpair(), socket.socketpair()
    with client, outer, inner, process:
        monitor = ConnectionMonitor(outer, process)
        client.send(b"what the relay has not passed on")
        assert monitor.is_open()
        assert not monitor.unread
        inner.send(b"a request")
        assert monitor.is_open()
        assert monitor.unread
        client.close()
        assert not monitor.is_open()
        assert not monitor.was_open


def test_a_monitor_keeps_no_descriptor_of_a_connection_that_is_closed_already() -> None:
    client, outer = socket.socketpair()
    gone = socket.socket()
    gone.close()
    with client, outer:
        with pytest.raises(OSError, match="Bad file descriptor"):
            ConnectionMonitor(outer, gone)
        outer.close()
        assert client.recv(1) == b"", "nobody holds the other end"


def test_who_stops_watching_keeps_no_descriptor(scene: Scene) -> None:
    scene.connect()
    scene.server.close()
    scene.client.settimeout(60)
    scene.seen.disconnect()
    assert scene.client.recv(1) == b""
    assert not scene.seen.attached
