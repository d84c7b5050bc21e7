"""A resolver that does not answer holds nobody beyond the time limit, and addresses need none."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from threading import Event
from typing import Any

import pytest

from envwire.client._transports.direct.dialing import Dialer
from envwire.client._transports.resolving import connect, resolve
from envwire.client.credentials import Credentials
from envwire.client.errors import ServerUnavailableError
from envwire.v1 import environment_pb2 as pb

NAME = "simulators.example"


@pytest.fixture(autouse=True)
def silence(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Has the resolver answer only after the test."""
    ask, over = socket.getaddrinfo, Event()

    def hang(host: str, *args: Any, flags: int = 0, **options: Any) -> Any:
        if not flags & socket.AI_NUMERICHOST:
            assert over.wait(60.0)
        return ask(host, *args, flags=flags | socket.AI_NUMERICHOST, **options)

    monkeypatch.setattr(socket, "getaddrinfo", hang)
    yield
    over.set()


def test_a_name_has_a_time_limit() -> None:
    with pytest.raises(TimeoutError, match=f"no resolver answers for {NAME} within 0.01 s"):
        resolve(NAME, 1, 0.01)


@pytest.mark.parametrize("host", ["127.0.0.1", "::1"])
def test_an_address_needs_no_resolver(host: str) -> None:
    assert [at[0] for *_, at in resolve(host, 50051, 0.01)] == [host]


def test_a_connection_has_one_limit_with_its_name() -> None:
    with pytest.raises(TimeoutError):
        connect(NAME, 1, 0.01)


def test_a_direct_channel_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("envwire.client._transports.direct.dialing._DIAL_SECONDS", 0.01)
    dialer = Dialer(f"{NAME}:50051", "direct-tcp", Credentials())
    dialer.use(pb.MakeResponse(direct=pb.DirectChannel(addresses=[":50052"])))
    with pytest.raises(ServerUnavailableError, match="no resolver answers"):
        dialer.dial()
