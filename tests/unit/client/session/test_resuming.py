"""How long a request is tried again, on a clock that only the test moves."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest

from envwire.client._drivers.blocking import BlockingDriver
from envwire.client._errors import timed_out
from envwire.client.errors import RequestTimeoutError, ServerUnavailableError
from envwire.v1 import environment_pb2 as pb
from envwire.wire.envelope import session_header
from envwire.wire.frames import Reply
from tests.unit.client.driven import ANYTHING, driver_over

LEASE, TIMEOUT = 10.0, 35.0
REPLY = Reply(pb.InteractResponse(render=pb.RenderResponse()).SerializeToString())


class Clock:
    """Stands for the module `time`."""

    def __init__(self) -> None:
        self.now = 1000.0

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        assert seconds > 0
        self.now += seconds


class Line:
    """A transport with configured outcomes of exchanges.

    Args:
        clock: Moved by each exchange.
        endings: Of the exchanges, the last again and again: the seconds that one takes, and whether a connection had
            come about, or "refused", or "late" when the time is over, or None when it is answered.
    """

    def __init__(self, clock: Clock, *endings: tuple[float, bool | str | None]) -> None:
        self._clock = clock
        self._endings = list(endings)
        self.requests: set[bytes] = set()
        self.begun: list[float] = []
        self.timeouts: list[float] = []

    def exchange(self, request: bytes, timeout: float, header: bytes) -> Reply:
        assert header == session_header("x", b"x")
        self.requests.add(request)
        assert len(self.requests) == 1, "it is the same request each time"
        self.begun.append(self._clock.now)
        self.timeouts.append(timeout)
        seconds, kind = self._endings[min(len(self.begun), len(self._endings)) - 1]
        self._clock.now += seconds
        if kind is None:
            return REPLY
        if kind == "late":
            raise timed_out("there:1", timeout)
        failure = ServerUnavailableError("cut")
        failure.connected, failure.refused = kind is True, kind == "refused"
        raise failure

    def send(self, request: bytes, timeout: float, header: bytes) -> None:
        self._sent = request, timeout, header

    def receive(self) -> Reply:
        return self.exchange(*self._sent)


Exchange = Callable[[BlockingDriver], bytes]


def _whole(driver: BlockingDriver) -> bytes:
    return driver.serve(ANYTHING)


def _halves(driver: BlockingDriver) -> bytes:
    driver.begin(ANYTHING)
    answer: bytes = driver.finish()
    return answer


@pytest.fixture(params=[_whole, _halves], ids=["whole", "halves"])
def exchange(request: pytest.FixtureRequest) -> Exchange:
    return request.param  # type: ignore[no-any-return]


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr("envwire.client._drivers.blocking.time", made)
    return made


def driver(clock: Clock, line: Any, lease: float = LEASE) -> BlockingDriver:
    return driver_over(line, lease=lease, timeout=TIMEOUT, clock=clock.monotonic)


def test_the_time_that_is_told_is_that_of_all_connections(clock: Clock, exchange: Exchange) -> None:
    """A dead path is noticed in the middle of a request, whose time goes on."""
    line = Line(clock, (TIMEOUT - 5.0, True), (5.0, "late"))
    with pytest.raises(RequestTimeoutError, match=r"within 35 s, on 2 connections"):
        exchange(driver(clock, line))
    line = Line(clock, (TIMEOUT, "late"))
    with pytest.raises(RequestTimeoutError, match="there:1"):  # as the only transport said it
        exchange(driver(clock, line))


def test_packets_that_are_too_large_for_the_path_are_hinted_at() -> None:
    assert "lower the MTU" in str(timed_out("simulator.lab:50051", 60.0))
    assert "lower the MTU" not in str(timed_out("localhost:50051", 60.0))


def test_where_no_connection_comes_about_it_is_tried_for_one_lease(
    clock: Clock, exchange: Exchange
) -> None:
    line = Line(clock, (3.0, True), (0.0, False))
    with pytest.raises(ServerUnavailableError):
        exchange(driver(clock, line))
    assert clock.now == pytest.approx(1000 + 3 + LEASE)
    assert line.begun[-1] == pytest.approx(clock.now), "a last time at its very end"


def test_each_connection_that_breaks_begins_the_lease_anew(
    clock: Clock, exchange: Exchange
) -> None:
    """Cut after 8 s again and again, and once not connected for almost a lease: longer than two leases in all."""
    line = Line(clock, (8.0, True), (8.0, True), (8.0, False), (8.0, True), (1.0, None))
    outlived = driver(clock, line)
    assert exchange(outlived) == REPLY.message
    assert clock.now - 1000 > 3 * LEASE
    assert outlived.session.retries.resumed == 1


def test_the_lease_begins_when_the_connection_breaks_not_when_it_comes_about(
    clock: Clock, exchange: Exchange
) -> None:
    line = Line(clock, (0.0, True), (20.0, True), (9.0, False), (0.0, None))
    assert exchange(driver(clock, line)) == REPLY.message


def test_the_requests_own_timeout_bounds_them_all(clock: Clock, exchange: Exchange) -> None:
    line = Line(clock, (8.0, True))
    with pytest.raises(ServerUnavailableError):
        exchange(driver(clock, line))
    assert line.begun[-1] < 1000 + TIMEOUT <= clock.now
    lefts = [1000 + TIMEOUT - begun for begun in line.begun]
    assert line.timeouts == pytest.approx(lefts), "each has what is left of it"


def test_a_cut_at_the_end_of_the_timeout_is_no_reason_to_wait_longer(
    clock: Clock, exchange: Exchange
) -> None:
    line = Line(clock, (TIMEOUT, True))
    with pytest.raises(ServerUnavailableError):
        exchange(driver(clock, line))
    assert len(line.begun) == 1


def test_who_refuses_after_a_connection_is_tried_for_a_moment(
    clock: Clock, exchange: Exchange
) -> None:
    line = Line(clock, (8.0, True), (8.0, True), (0.0, "refused"))
    with pytest.raises(ServerUnavailableError):
        exchange(driver(clock, line))
    assert 16 < clock.now - 1000 < 19


def test_a_short_lease_is_not_slept_through(clock: Clock, exchange: Exchange) -> None:
    """However often it was cut, and however long the pauses might have become."""
    line = Line(clock, *[(0.3, True)] * 40, (0.0, None))
    assert exchange(driver(clock, line, lease=0.4)) == REPLY.message
    pauses = [late - early - 0.3 for early, late in zip(line.begun, line.begun[1:], strict=False)]
    assert max(pauses) <= 0.1 + 1e-6


def test_a_make_whose_connection_broke_is_repeated_for_a_moment(
    clock: Clock, exchange: Exchange
) -> None:
    line = Line(clock, (0.0, True), (0.0, True), (0.0, None))
    made = driver(clock, line, lease=0.0)
    assert exchange(made) == REPLY.message
    assert made.session.retries.resumed == 0
    with pytest.raises(ServerUnavailableError):
        exchange(driver(clock, Line(clock, (0.0, True)), lease=0.0))
    assert clock.now - 1000 < 3


@pytest.mark.parametrize("ending", [False, "refused"])
def test_a_make_is_not_repeated_where_no_server_was(
    clock: Clock, exchange: Exchange, ending: bool | str
) -> None:
    line = Line(clock, (0.0, ending))
    with pytest.raises(ServerUnavailableError):
        exchange(driver(clock, line, lease=0.0))
    assert len(line.begun) == 1


@pytest.mark.parametrize(
    ("span", "told"), [(None, "2 s"), (math.inf, "10 s"), (0.2, "0.2 s, then elsewhere")]
)
def test_what_happens_next_is_told_where_connections_are_refused(
    clock: Clock, caplog: pytest.LogCaptureFixture, span: float | None, told: str
) -> None:
    refused = driver(clock, Line(clock, (0.0, "refused")))
    refused.session.retries.refused_span = span
    with pytest.raises(ServerUnavailableError) as caught:
        _whole(refused)
    [text] = [each for each in caplog.messages if each.startswith("x: ")]
    assert text == f"x: cut; trying again for up to {told}"
    assert ("on_lost='replay'" in str(caught.value)) is (span != 0.2)
    assert ("another server can make it" in str(caught.value)) is (span == 0.2)
