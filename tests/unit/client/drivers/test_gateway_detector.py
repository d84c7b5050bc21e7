"""Sessions of one server ask the gateway together whether it is dead."""

from __future__ import annotations

import gc
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from envwire.client import Credentials
from envwire.client._drivers import failure_detection
from envwire.client._drivers.failure_detection import GatewayDetector
from envwire.client._transports.portability import THIS_PROCESS
from envwire.v1 import environment_pb2 as pb


class Gateway:
    """A gateway that answers on command and records its requests."""

    def __init__(self) -> None:
        self.dead = False
        self.may_answer = threading.Event()
        self.may_answer.set()
        self.is_asked = threading.Event()
        self.asked: list[str] = []

    def session(self, name: str, run: str = "run", token: str | None = None) -> GatewayDetector:
        made = pb.MakeResponse(session_id=name, incarnation=run)
        credentials = Credentials(token=token) if token else None
        return GatewayDetector(credentials, "gateway:1", made)

    def is_server_dead(self, target: str, _: Credentials, session_id: str, silent: bool) -> bool:
        self.asked.append(session_id)
        self.is_asked.set()
        assert self.may_answer.wait(60.0)
        return self.dead


@pytest.fixture
def gateway(monkeypatch: pytest.MonkeyPatch) -> Gateway:
    made = Gateway()
    monkeypatch.setattr(
        "envwire.client._transports.grpc.gateway.is_server_dead", made.is_server_dead
    )
    return made


@pytest.fixture
def fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    """An answer stays fresh for ever."""
    monkeypatch.setattr(failure_detection, "_FRESH_SECONDS", 1e9)


def test_sessions_that_ask_at_the_same_time_ask_once(gateway: Gateway) -> None:
    sessions = [gateway.session(str(number)) for number in range(8)]
    gateway.may_answer.clear()
    gateway.dead = True
    with ThreadPoolExecutor(8) as pool:
        asking = [pool.submit(each.ask, False) for each in sessions]
        assert gateway.is_asked.wait(60.0)
        gateway.may_answer.set()
        assert all(each.result(10.0) for each in asking)
    assert len(gateway.asked) == 1
    assert all(each.known for each in sessions)


@pytest.mark.usefixtures("fresh")
def test_an_answer_serves_the_other_sessions_of_its_server_only(gateway: Gateway) -> None:
    one, other = gateway.session("one"), gateway.session("other")
    elsewhere = gateway.session("elsewhere", run="another run")
    stranger = gateway.session("stranger", token="token")
    assert not any(each.ask(False) for each in (one, other, elsewhere, stranger, one))
    assert gateway.asked == ["one", "elsewhere", "stranger"]


def test_an_old_answer_serves_nobody(gateway: Gateway, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(failure_detection, "_FRESH_SECONDS", -1.0)
    one, other = gateway.session("one"), gateway.session("other")
    assert not one.ask(False)
    gateway.dead = True
    assert other.ask(False)
    assert one.ask(False)
    assert gateway.asked == ["one", "other"]


@pytest.mark.usefixtures("fresh")
def test_a_forked_child_asks_for_itself(gateway: Gateway, monkeypatch: pytest.MonkeyPatch) -> None:
    parents = gateway.session("parent")
    parents.ask(False)
    monkeypatch.setattr(THIS_PROCESS, "pid", -1)
    gateway.session("child").ask(False)
    assert gateway.asked == ["parent", "child"]


def test_nothing_is_kept_of_sessions_that_ended(gateway: Gateway) -> None:
    gc.collect()
    before = len(failure_detection._inquiries)
    sessions = [gateway.session(str(number), run=f"run {number}") for number in range(8)]
    assert len(failure_detection._inquiries) == before + 8
    sessions.clear()
    gc.collect()
    assert len(failure_detection._inquiries) == before


@pytest.mark.usefixtures("fresh")
def test_that_the_server_is_silent_is_told_even_so(gateway: Gateway) -> None:
    one, other = gateway.session("one"), gateway.session("other")
    assert not one.ask(False)
    assert not other.ask(True)
    assert not one.ask(False)
    assert gateway.asked == ["one", "other"]
