"""The servers and transports of the suite: a server with no or all access checks, and each default transport."""

from __future__ import annotations

from collections.abc import Iterator

import grpc
import pytest

from envwire.server import Server
from tests.secured import GUARDS, Guard, secured
from tests.tiers import first


@pytest.fixture(scope="module", params=first(GUARDS))
def guard(request: pytest.FixtureRequest) -> Guard:
    """What servers ask of their clients."""
    made: Guard = request.param()
    return made


@pytest.fixture
def entered(guard: Guard, monkeypatch: pytest.MonkeyPatch) -> Guard:
    """The guard, which admits every client of the test."""
    guard.enter(monkeypatch)
    return guard


@pytest.fixture(params=["direct", "stream"])
def transport(
    request: pytest.FixtureRequest, entered: Guard, monkeypatch: pytest.MonkeyPatch
) -> str:
    """The transport of proxies without an explicit one."""
    assert entered
    name: str = request.param
    monkeypatch.setattr("envwire.client._transports.by_name.DEFAULT", name)
    return name


@pytest.fixture
def server(guard: Guard, server: Server) -> Server:
    """A server of all environments of the tests, behind the guard."""
    return secured() if guard.strict else server


@pytest.fixture
def channel(server: Server, guard: Guard) -> Iterator[grpc.Channel]:
    """A channel of a client that is not envwire's."""
    with guard.channel(server.target) as opened:
        yield opened
