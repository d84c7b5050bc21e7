"""When a server counts as lost: missed probes and a gateway's answer, or an answer that another session got."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from envwire.client._drivers.asyncio_driver import WaitsOfLoop, WatchedAsyncTransport
from envwire.client._drivers.coroutines import run
from envwire.client._drivers.failure_detection import (
    CUT_SECONDS,
    LATE_SECONDS,
    FailureDetector,
    FailureMonitor,
)
from envwire.client._drivers.watched import WatchedTransport
from envwire.client._errors import broken, refused
from envwire.client.errors import ServerUnavailableError
from envwire.wire.frames import Reply


class Server(FailureDetector):
    """An unreachable server that records its calls and the questions to its gateway."""

    def __init__(
        self, failure: ServerUnavailableError, *, dead: bool, has_gateway: bool = False
    ) -> None:
        self.failure = failure
        self.has_gateway = has_gateway
        self.dead = dead
        #: Whether it is known to be dead, each time that somebody looks.
        self.told: list[bool] = []
        self.noted: list[str] = []

    @property
    def known(self) -> bool:
        return bool(self.told) and self.told.pop(0)

    def exchange(self, *_: Any) -> Reply:
        self.noted.append("exchange")
        raise self.failure

    def probe(self, timeout: float) -> bool:
        self.noted.append("probe")
        return False

    def ask(self, silent: bool) -> bool:
        self.noted.append("ask" if silent else "ask-early")
        return self.dead

    def interrupt(self) -> None:
        self.noted.append("interrupt")

    def fileno(self) -> int:
        return -1

    def keep_alive(self, *_: Any) -> None:
        """It renews nothing."""

    def close(self) -> None:
        self.noted.append("close")


class AsyncConnection:
    """The connection of an event loop to it."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self.interrupt, self.close = server.interrupt, server.close

    async def exchange(self, *_: Any) -> Reply:
        return self._server.exchange()


def fail_in_thread(server: Server, times: int) -> list[bool]:
    """Returns of each failed request whether the server counts as lost."""
    watched: Any = WatchedTransport(server, server)  # type: ignore[arg-type]
    found: list[bool] = []
    for _ in range(times):
        with pytest.raises(ServerUnavailableError) as caught:
            watched.exchange(b"", 1.0)
        found.append(caught.value.silent)
    watched.close()
    return found


def fail_in_loop(server: Server, times: int) -> list[bool]:
    async def drive() -> list[bool]:
        connection: Any = AsyncConnection(server)
        watched = WatchedAsyncTransport(connection, server, server)
        found: list[bool] = []
        for _ in range(times):
            with pytest.raises(ServerUnavailableError) as caught:
                await watched.exchange(b"", 1.0, b"")
            found.append(caught.value.silent)
        watched.close()
        return found

    return asyncio.run(drive())


@pytest.fixture(params=[fail_in_thread, fail_in_loop])
def fail(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> Callable[[Server, int], list[bool]]:
    monkeypatch.setattr("envwire.client._drivers.failure_detection.CUT_SECONDS", 0.0)
    monkeypatch.setattr("envwire.client._drivers.failure_detection.ASK_SECONDS", 0.0)
    return request.param  # type: ignore[no-any-return]


Fail = Callable[[Server, int], list[bool]]


def test_a_cut_connection_takes_a_missed_probe_and_an_answer(fail: Fail) -> None:
    server = Server(broken("cut"), dead=True)
    assert fail(server, 1) == [True]
    assert server.noted[:3] == ["exchange", "probe", "ask"]


def test_a_server_of_which_nobody_says_that_it_is_dead_is_not_lost(fail: Fail) -> None:
    assert fail(Server(broken("cut"), dead=False), 2) == [False, False]


def test_a_refused_connection_is_not_silence(fail: Fail) -> None:
    server = Server(refused("here"), dead=True)
    assert fail(server, 2) == [False, False]
    assert "probe" not in server.noted


def test_a_server_that_is_known_to_be_dead_is_neither_dialled_nor_probed_again(fail: Fail) -> None:
    server = Server(broken("cut"), dead=False)
    server.told = [True]
    assert fail(server, 1) == [True]
    assert server.noted == ["exchange", "close"]


def test_a_server_that_another_session_found_dead_is_not_dialled_again(
    fail: Fail, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("envwire.client._drivers.failure_detection.CUT_SECONDS", 1000.0)
    server = Server(broken("cut"), dead=False)
    server.told = [False, True]
    assert fail(server, 2) == [False, True]
    assert server.noted == ["exchange", "close"]


class NoTimer:
    """A timer that never calls back; its last start is noted."""

    seconds = 0.0

    def start(self, seconds: float) -> None:
        self.seconds = seconds

    def stop(self) -> None:
        self.seconds = 0.0


class Meeting(Server):
    """A server whose probe answers once another session's probe runs beside it."""

    both = threading.Barrier(2, timeout=60)

    def probe(self, _: float) -> bool:
        self.both.wait()
        return True


def test_probes_of_sessions_in_a_loop_run_side_by_side() -> None:
    async def drive() -> None:
        asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(1))
        servers = Meeting(broken("cut"), dead=True), Meeting(broken("cut"), dead=True)
        monitors = [
            FailureMonitor(NoTimer(), each, each, each.interrupt, WaitsOfLoop()) for each in servers
        ]
        await asyncio.gather(*(monitor.judge() for monitor in monitors))

    asyncio.run(drive())


@pytest.mark.parametrize(
    ("cut", "has_gateway", "answers", "effects", "interrupted"),
    [
        (False, True, [True], "probe", False),
        (False, True, [False, True], "probe probe", False),
        (False, True, [False, False, True], "probe probe ask", True),
        (False, True, [False, False, False, True], "probe probe ask pause ask", True),
        (True, False, [True], "probe", False),
        (True, False, [False, True], "probe ask", True),
        (True, True, [True], "ask-early", True),
        (True, True, [False, True], "ask-early probe", False),
        (True, True, [False, False, True], "ask-early probe ask", True),
    ],
)
def test_a_late_answer(
    cut: bool, has_gateway: bool, answers: list[bool], effects: str, interrupted: bool
) -> None:
    server = Server(broken("cut"), dead=True, has_gateway=has_gateway)
    timer, performed = NoTimer(), list[str]()

    class Waits:
        async def call(self, function: Callable[[], bool]) -> bool:
            function()
            performed.append(server.noted.pop())
            return answers.pop(0)

        async def pause(self, seconds: float) -> None:
            performed.append("pause")

    monitor = FailureMonitor(timer, server, server, server.interrupt, Waits())
    monitor.cut_at = float(cut)
    monitor.begin()
    assert timer.seconds == (CUT_SECONDS if cut else LATE_SECONDS)
    run(monitor.judge())
    assert " ".join(performed) == effects
    assert server.noted == ["interrupt"] * interrupted
