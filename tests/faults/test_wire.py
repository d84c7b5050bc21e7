"""Connections that are reset, half-closed, silenced, slow: the episode goes on inside the lease, each step once."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

from envwire.client import (
    Credentials,
    RemoteEnv,
    RequestTimeoutError,
    ServerUnavailableError,
    SessionLostError,
)
from tests.faults.hungry_envs import HUNGRY, Appetite
from tests.faults.scene import active, channel_of, eventually, resumed, serve
from tests.faults.wire import Wire
from tests.secured import certificates
from tests.tiers import first

LEASE = 4.0


class Line:
    """A server behind a wire, and environments on it."""

    def __init__(self, wire: Wire, credentials: Credentials | None, transport: str) -> None:
        self.wire = wire
        self.credentials = credentials
        self.transport = transport

    def make(self, **settings: Any) -> RemoteEnv:
        settings = {"transport": self.transport, "credentials": self.credentials} | settings
        return RemoteEnv(self.wire.target, HUNGRY, **settings)

    def active(self) -> int:
        return active(self.wire.target, credentials=self.credentials)


@pytest.fixture(scope="module", params=first(["plain", "TLS"]))
def served(request: pytest.FixtureRequest) -> Iterator[tuple[str, Wire]]:
    settings = certificates().server() if request.param == "TLS" else {}
    with Wire() as wire, serve(lease=LEASE, step_timeout=20.0, **wire.settings, **settings):
        yield request.param, wire


@pytest.fixture(params=first(["direct-tcp", "unary", "stream"]))
def line(request: pytest.FixtureRequest, served: tuple[str, Wire]) -> Line:
    kind, wire = served
    wire.delay = 0.0
    settings: dict[str, Any] = {"cert": None, "key": None, "override_authority": "localhost"}
    credentials = certificates().client(**settings) if kind == "TLS" else None
    return Line(wire, credentials, request.param)


def test_a_reset_connection_is_replaced_and_no_step_is_lost(
    line: Line, caplog: pytest.LogCaptureFixture
) -> None:
    env = line.make()
    env.reset()
    with caplog.at_level(logging.INFO, "envwire.client"):
        for count in range(1, 7):
            assert env.step(0)[4] == {"steps": count}
            if count % 2:
                line.wire.cut()
    if line.transport == "direct-tcp":  # gRPC may mend its own connection before anybody asks
        assert resumed(env) == 3
        assert "goes on after" in caplog.text
    env.close()
    assert line.active() == 0


def test_a_reset_under_a_step_loses_and_repeats_nothing(line: Line) -> None:
    env = line.make(patience=0.4)
    env.reset()
    cutter = threading.Timer(0.2, line.wire.cut)
    cutter.start()
    assert env.step(int(Appetite.TIME))[4] == {"steps": 1}
    cutter.join()
    assert resumed(env) == 1
    assert env.step(0)[4] == {"steps": 2}
    env.close()


def test_a_step_that_is_cut_again_and_again_for_longer_than_the_lease(
    line: Line, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The client was connected again each time, so the lease began anew each time."""
    monkeypatch.setattr(
        "envwire.client._transports.direct.dialing._DIAL_SECONDS", 0.1
    )  # a session at work is silent
    env = line.make(lease=2.0, patience=4.0)
    env.reset()
    over = threading.Event()
    cuts: list[int] = []

    def cut() -> None:
        while not over.wait(0.5):
            cuts.append(line.wire.cut())

    cutter = threading.Thread(target=cut)
    cutter.start()
    try:
        assert env.step(int(Appetite.TIME))[4] == {"steps": 1}
    finally:
        over.set()
        cutter.join()
    assert len(cuts) > 2
    assert env.step(0)[4] == {"steps": 2}
    env.close()


def test_a_farewell_under_a_step_loses_and_repeats_nothing(line: Line) -> None:
    env = line.make(patience=0.4)
    env.reset()
    cutter = threading.Timer(0.2, line.wire.half_close)
    cutter.start()
    assert env.step(int(Appetite.TIME))[4] == {"steps": 1}
    cutter.join()
    assert env.step(0)[4] == {"steps": 2}
    env.close()


def test_a_line_that_is_dead_for_a_while(line: Line) -> None:
    env = line.make()
    env.reset()
    back = threading.Event()

    def interrupt() -> None:
        with line.wire.refusing():
            back.wait(1.0)

    thread = threading.Thread(target=interrupt)
    thread.start()
    assert [env.step(0)[4]["steps"] for _ in range(200)] == list(range(1, 201))
    back.set()
    thread.join()
    env.close()


def test_a_line_that_is_dead_for_longer_than_the_lease(line: Line) -> None:
    env = line.make(lease=0.5)
    env.reset()
    with line.wire.refusing():
        with pytest.raises(ServerUnavailableError):
            env.step(0)
        time.sleep(1.5)  # what is waited for is time itself
    told: list[SessionLostError] = []
    assert eventually(lambda: bool(told) or _try(env, told)), (
        "gRPC may wait before it connects again"
    )
    assert "lease of 0.5 s" in str(told[0])
    env.reset()
    assert env.step(0)[4] == {"steps": 1}
    env.close()
    assert line.active() == 0


def _try(env: RemoteEnv, told: list[SessionLostError]) -> bool:
    try:
        env.step(0)
    except SessionLostError as error:
        told.append(error)
    except ServerUnavailableError:
        return False
    return True


def test_a_silent_line_times_out_and_the_step_counts_once(line: Line) -> None:
    env = line.make(timeout=1.0)
    env.reset()
    line.wire.swallow()
    with pytest.raises(RequestTimeoutError, match="1 s"):
        env.step(0)
    line.wire.cut()
    steps = env.step(0)[4]["steps"]
    assert steps in {1, 2}, "whether the step arrived nobody knows; the next one does"
    assert env.step(0)[4] == {"steps": steps + 1}
    env.close()


def test_a_slow_line_is_slow(line: Line) -> None:
    env = line.make()
    env.reset()
    line.wire.delay = 0.2
    begun = time.monotonic()
    assert [env.step(0)[4]["steps"] for _ in range(3)] == [1, 2, 3]
    assert time.monotonic() - begun > 3 * 0.4
    line.wire.delay = 0.0
    env.close()


def test_a_dead_peer_is_noticed_by_the_kernel_and_the_episode_goes_on(
    served: tuple[str, Wire], monkeypatch: pytest.MonkeyPatch
) -> None:
    kind, wire = served
    if kind == "TLS":
        pytest.skip("the same code as without TLS")
    given_up = TimeoutError(110, "Connection timed out")  # what TCP_USER_TIMEOUT ends in
    env = RemoteEnv(wire.target, HUNGRY, transport="direct-tcp")
    env.reset()
    channel = channel_of(env)

    def give_up(*_: object) -> None:
        raise given_up

    monkeypatch.setattr(channel, "send", give_up)
    assert env.step(0)[4] == {"steps": 1}
    assert resumed(env) == 1
    env.close()
    assert eventually(lambda: active(wire.target) == 0)
