"""Many sockets are one descriptor of their event loop, and nothing is left of those that are no longer watched."""

from __future__ import annotations

import asyncio
import os
import select
import socket
from collections.abc import Iterator
from functools import partial

import pytest

from envwire.client._transports.direct import loop_sockets
from envwire.client._transports.direct.loop_sockets import unwatch, watch

SECONDS = 10.0
Pairs = list[tuple[socket.socket, socket.socket]]


@pytest.fixture
def loop() -> Iterator[asyncio.AbstractEventLoop]:
    made = asyncio.new_event_loop()
    yield made
    made.close()
    assert made not in loop_sockets._of_loops


@pytest.fixture
def pairs() -> Iterator[Pairs]:
    made = [socket.socketpair() for _ in range(3)]
    yield made
    for pair in made:
        for each in pair:
            each.close()


@pytest.fixture(params=["epoll", "without epoll"])
def _system(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param != "epoll":
        monkeypatch.delattr(select, "epoll")


def turn(loop: asyncio.AbstractEventLoop) -> None:
    """Runs the loop until it has called back for readable sockets."""
    loop.run_until_complete(asyncio.wait_for(asyncio.sleep(0.01), SECONDS))


@pytest.mark.usefixtures("_system")
def test_callbacks_are_called_for_as_long_as_their_sockets_are_watched(
    loop: asyncio.AbstractEventLoop, pairs: Pairs
) -> None:
    heard: list[int] = []

    def hear(number: int) -> None:
        heard.append(number)
        pairs[number][0].recv(1)

    for number, (ours, _) in enumerate(pairs):
        watch(loop, ours.fileno(), partial(hear, number))
    for _, theirs in pairs:
        theirs.send(b"x")
    turn(loop)
    assert sorted(heard) == [0, 1, 2]
    unwatch(loop, pairs[1][0].fileno())
    for _, theirs in pairs:
        theirs.send(b"x")
    turn(loop)
    assert sorted(heard) == [0, 0, 1, 2, 2]
    for ours, _ in pairs:
        unwatch(loop, ours.fileno())  # once more for one of them, which is harmless


def test_the_loop_sees_one_descriptor(loop: asyncio.AbstractEventLoop, pairs: Pairs) -> None:
    before = len(loop._selector.get_map())  # type: ignore[attr-defined]
    for ours, _ in pairs:
        watch(loop, ours.fileno(), lambda: None)
    assert len(loop._selector.get_map()) == before + 1  # type: ignore[attr-defined]
    for ours, _ in pairs:
        unwatch(loop, ours.fileno())
    assert len(loop._selector.get_map()) == before  # type: ignore[attr-defined]


def test_a_callback_may_end_the_watch_of_another_that_is_readable_too(
    loop: asyncio.AbstractEventLoop, pairs: Pairs
) -> None:
    heard: list[int] = []
    failures: list[object] = []
    loop.set_exception_handler(lambda _, context: failures.append(context))

    def hear(number: int) -> None:
        heard.append(number)
        for ours, _ in pairs:
            unwatch(loop, ours.fileno())

    for number, (ours, theirs) in enumerate(pairs):
        watch(loop, ours.fileno(), partial(hear, number))
        theirs.send(b"x")
    turn(loop)
    assert len(heard) == 1
    assert not failures


def test_a_closed_loop_and_a_closed_socket_leave_nothing(
    loop: asyncio.AbstractEventLoop, pairs: Pairs
) -> None:
    before = len(os.listdir("/proc/self/fd"))
    numbers = [ours.fileno() for ours, _ in pairs]
    for number in numbers:
        watch(loop, number, lambda: None)
    assert len(os.listdir("/proc/self/fd")) == before + 1
    pairs[0][0].close()
    loop.close()
    for number in numbers:
        unwatch(loop, number)
    assert loop not in loop_sockets._of_loops
    assert len(os.listdir("/proc/self/fd")) < before
