"""The HTTP port: health for probes, metrics for Prometheus, on real servers."""

from __future__ import annotations

import contextlib
import http.client
import os
import re
import signal
import socket
import ssl
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import pytest
from prometheus_client.parser import text_string_to_metric_families

from envwire.client import Credentials, RemoteEnv, SessionLostError
from envwire.envs.error import NameNotFound
from envwire.server import Server
from envwire.server._auth.scopes import Scope
from tests.farm.scene import Gateway, free_port, server
from tests.faults.scene import eventually
from tests.secured import certificates, write_tokens

_DASHBOARD = Path(__file__).parents[2] / "farm/grafana.json"

ENV = "CartPole-v1"
SECONDS = 60.0


class Port:
    """A server's HTTP port, as a probe or Prometheus sees it."""

    def __init__(self, context: ssl.SSLContext | None = None, token: str = "") -> None:
        self.number = free_port()
        self._context = context
        self.headers = {"Authorization": f"Bearer {token}"} if token else {}

    def get(self, path: str, method: str = "GET") -> tuple[int, str]:
        connection = (
            http.client.HTTPConnection("127.0.0.1", self.number, timeout=SECONDS)
            if self._context is None
            else http.client.HTTPSConnection(
                "127.0.0.1", self.number, timeout=SECONDS, context=self._context
            )
        )
        connection.request(method, path, headers=self.headers)
        answer = connection.getresponse()
        return answer.status, answer.read().decode()

    def metrics(self) -> dict[str, float]:
        """Returns each sample by its name, with the label's value behind it."""
        status, text = self.get("/metrics")
        assert status == 200, text
        return {
            " ".join([sample.name, *sample.labels.values()]): sample.value
            for family in text_string_to_metric_families(text)
            for sample in family.samples
        }

    def soon(self, holds: Callable[[dict[str, float]], bool]) -> dict[str, float]:
        deadline = time.monotonic() + SECONDS
        while not holds(found := self.metrics()):
            assert time.monotonic() < deadline, found
            time.sleep(0.1)
        return found


class Served(NamedTuple):
    """A server, and its HTTP port."""

    port: Port
    target: str


@contextmanager
def serving() -> Iterator[Served]:
    port = Port()
    with Server([ENV], http_port=port.number, max_sessions=3, queue=1) as server:
        yield Served(port, server.target)


@pytest.fixture
def counted() -> Iterator[Served]:
    """A server that has counted nothing yet."""
    with serving() as served:
        yield served


@pytest.fixture(scope="module")
def port() -> Iterator[Port]:
    with serving() as served:
        yield served.port


@pytest.mark.parametrize("transport", ["direct", "stream"])
def test_metrics_count_what_was_done(counted: Served, transport: str) -> None:
    port = counted.port
    before = port.metrics()
    assert (before["envwire_slots"], before["envwire_slots_used"]) == (3, 0)
    env = RemoteEnv(counted.target, ENV, transport=transport)
    env.reset(seed=0)
    for _ in range(5):
        env.step(0)
    # A request on a direct channel is counted after its answer is sent.
    during = port.soon(lambda found: found["envwire_requests_total"] >= 6)
    assert during["envwire_slots_used"] == during[f"envwire_sessions {ENV}"] == 1
    assert during["envwire_makes_total MADE"] == during["envwire_make_seconds_count"] == 1
    assert 0 < during["envwire_make_seconds_sum"] < SECONDS
    assert (during["envwire_requests_total"], during["envwire_steps_total"]) == (6, 5)
    assert 0 < during["envwire_environment_seconds_total"] < during["envwire_request_seconds_total"]
    assert (during["envwire_grpc_bytes_total received"] > 100) == (transport == "stream")
    env.close()
    after = port.soon(lambda found: not found["envwire_slots_used"])
    assert after["envwire_sessions_ended_total SESSION_CLOSED"] == 1
    assert after["envwire_requests_total"] >= 6
    assert f"envwire_sessions {ENV}" not in after


def test_the_documentation_has_every_metric(port: Port) -> None:
    metrics = re.findall(r"^# TYPE (envwire_\w+)", port.get("/metrics")[1], re.MULTILINE)
    assert metrics
    documentation = (Path(__file__).parent.parent.parent / "docs/operations.md").read_text()
    assert [each for each in metrics if f"`{each}" not in documentation] == []


def test_a_killed_session_is_a_loss_and_keeps_its_counts(counted: Served) -> None:
    port = counted.port
    env = RemoteEnv(counted.target, ENV)
    env.reset(seed=0)
    env.step(0)
    port.soon(lambda found: found["envwire_requests_total"] == 2)  # counted after the answer
    os.kill(last_process(counted.target), signal.SIGKILL)
    with pytest.raises(SessionLostError):
        env.step(0)
    found = port.soon(lambda found: "envwire_sessions_ended_total SESSION_LOST" in found)
    assert found["envwire_requests_total"] == 2


def last_process(target: str) -> int:
    from envwire.admin.v1 import admin_pb2
    from tests.operations.test_admin import ask

    (session,) = ask(target, "ListSessions", admin_pb2.ListSessionsRequest()).sessions
    return int(session.process_id)


def test_refused_makes_are_counted_by_reason(counted: Served) -> None:
    for bad in ("CartPole-v1?", "Nonsense-v0"):
        with pytest.raises(NameNotFound):
            RemoteEnv(counted.target, bad)
    found = counted.port.metrics()
    assert found["envwire_makes_total UNKNOWN_ENVIRONMENT"] == 2
    assert not any("Nonsense" in name for name in found)


def test_a_draining_server_lives_and_is_not_ready(port: Port) -> None:
    assert port.get("/livez")[0] == port.get("/readyz")[0] == 200
    with Server([ENV], http_port=(other := Port()).number, drain_timeout=SECONDS) as server:
        env = RemoteEnv(server.target, ENV)
        env.reset()
        os.kill(server.pid, signal.SIGTERM)
        deadline = time.monotonic() + SECONDS
        while other.get("/readyz")[0] != 503:
            assert time.monotonic() < deadline
            time.sleep(0.1)
        assert other.get("/livez")[0] == 200
        assert other.metrics()["envwire_draining"] == 1
        env.close()


def test_other_paths_and_methods_are_refused(port: Port) -> None:
    assert port.get("/")[0] == 404
    assert port.get("/metrics?x=1")[0] == 200
    assert port.get("/metrics", "POST")[0] == 405
    assert port.get("/metrics", "HEAD") == (200, "")


@pytest.mark.parametrize(
    "sent",
    [b"", b"nonsense\r\n\r\n", b"\xff\x00\r\n\r\n", b"GET /livez HTTP/1.1\r\n" + b"x" * 9000],
)
def test_what_is_no_request_harms_nobody(port: Port, sent: bytes) -> None:
    with socket.create_connection(("127.0.0.1", port.number), SECONDS) as peer:
        peer.sendall(sent)
        peer.shutdown(socket.SHUT_WR)
        assert b"200" not in peer.recv(4096)
    assert port.get("/livez") == (200, "ok\n")


HALF_A_HEAD, HALF_A_HANDSHAKE = b"GET /livez HTTP/1.1\r\n", b"\x16\x03\x01\x02\x00\x01"


def occupy(port: Port, count: int, said: bytes, stack: contextlib.ExitStack) -> None:
    for _ in range(count):
        peer = socket.create_connection(("127.0.0.1", port.number), SECONDS)
        stack.enter_context(contextlib.closing(peer)).sendall(said)


def test_requests_without_an_end_keep_nobody_from_an_answer(port: Port) -> None:
    with contextlib.ExitStack() as stack:
        for _ in range(10):
            occupy(port, 70, HALF_A_HEAD, stack)
            assert port.get("/livez") == (200, "ok\n")
        assert eventually(lambda: open_connections(port) <= 8)


def test_half_handshakes_keep_nobody_from_an_answer() -> None:
    port = Port(ssl.create_default_context(cafile=str(certificates().path("ca"))))
    with (
        Server([ENV], http_port=port.number, **certificates().server()),
        contextlib.ExitStack() as stack,
    ):
        for _ in range(3):
            occupy(port, 100, HALF_A_HANDSHAKE, stack)
            assert port.get("/livez") == (200, "ok\n")
        assert eventually(lambda: open_connections(port) <= 8)


def open_connections(port: Port) -> int:
    """Returns how many connections the port's server has open."""
    rows = map(str.split, Path("/proc/net/tcp").read_text().splitlines()[1:])
    local, established = f"0100007F:{port.number:04X}", "01"
    return sum(row[1] == local and row[3] == established for row in rows)


def test_with_tokens_metrics_take_scope_observe_and_health_takes_none(tmp_path: Path) -> None:
    tokens = write_tokens(
        tmp_path / "tokens", {"player": [Scope.PLAY], "prometheus": [Scope.OBSERVE]}
    )
    stranger = Port()
    with Server([ENV], http_port=stranger.number, tokens=tmp_path / "tokens"):
        assert stranger.get("/readyz")[0] == 200
        assert stranger.get("/metrics")[0] == 401
        stranger.headers = {"Authorization": f"Bearer {tokens['player']}"}
        assert stranger.get("/metrics")[0] == 403
        stranger.headers = {"Authorization": f"Bearer {tokens['prometheus']}"}
        status, text = stranger.get("/metrics")
        assert status == 200
        assert not any(secret in text for secret in [*tokens.values(), "player"])


def test_with_a_certificate_the_port_speaks_tls() -> None:
    context = ssl.create_default_context(cafile=str(certificates().path("ca")))
    port = Port(context)
    with Server([ENV], http_port=port.number, **certificates().server()) as server:
        assert port.get("/readyz") == (200, "ok\n")
        env = RemoteEnv(server.target, ENV, credentials=Credentials(certificates().path("ca")))
        assert port.metrics()["envwire_slots_used"] == 1
        env.close()


def test_a_port_that_is_taken_is_named(port: Port) -> None:
    with pytest.raises(Exception, match="--http-port N, where 0 is none"):
        Server([ENV], http_port=port.number).start()


@pytest.mark.slow  # as all farms
def test_a_gateway_has_metrics_of_the_farm() -> None:
    port = Port()
    gateway = Gateway("--http-port", str(port.number)).start()
    try:
        assert port.get("/livez")[0] == port.get("/readyz")[0] == 200
        empty = port.metrics()
        assert (empty["envwire_farm_slots"], empty["envwire_farm_servers free"]) == (0, 0)
        with server(gateway, max_sessions=2) as one, server(gateway, max_sessions=3) as two:
            gateway.await_servers(one, two)
            envs = [RemoteEnv(gateway.target, ENV) for _ in range(2)]
            with pytest.raises(NameNotFound):
                RemoteEnv(gateway.target, "Nonsense-v0")
            # A server that reports while the gateway reads its answer counts a session twice, until its next report.
            found = port.soon(lambda found: found["envwire_farm_slots_free"] == 3)
            assert found["envwire_farm_servers free"] == 2
            assert found["envwire_farm_slots"] == 5
            assert found["envwire_farm_slots_used"] == 2
            # Clients make at the servers, with tickets for allocated slots.
            assert found["envwire_slots_allocated_total"] == 2
            assert found["envwire_makes_total UNKNOWN_ENVIRONMENT"] == 1
            assert found["envwire_make_seconds_count"] == 1
            for env in envs:
                env.reset(seed=1)
                for _ in range(5):
                    env.step(0)
            found = port.soon(lambda found: found["envwire_farm_steps_total"] == 10)
            assert found["envwire_farm_sessions_lost_total"] == 0
            # Their processes, of which each holds a Python with NumPy.
            assert found["envwire_farm_memory_bytes"] > 20e6
            for env in envs:
                env.close()
        asked = set(re.findall(r"envwire_\w+", _DASHBOARD.read_text()))
        assert len(asked) > 10
        assert asked <= {name.partition(" ")[0] for name in found}
    finally:
        gateway.kill()
