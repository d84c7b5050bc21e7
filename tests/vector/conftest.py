"""Servers of environments for vectors. Each is a real process with real sockets."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import cache
from typing import Any

import pytest

from envwire.server import Server
from tests.conftest import ROOT
from tests.secured import GUARDS, Guard
from tests.tiers import first

HOSTED = ("vectors/*", "tests/*", "CartPole-v1", "Pendulum-v1", "FrozenLake-v1", "GridWorld-v0")
SETTINGS: dict[str, Any] = {
    "imports": ["tests.vector.hosted", "tests.hosted_envs"],
    "sys_path": (ROOT,),
    "step_timeout": 20.0,
    "max_envs_per_session": 1100,
}


IN_THE_CLEAR = next(iter(GUARDS))
#: For tests of what passes between client and server: it must not differ behind any guard.
BEHIND_ANY_GUARD = pytest.mark.parametrize("guard", first(list(GUARDS)), indirect=True)

#: Returns the server of a number behind a guard.
Servers = Callable[[int, Guard], Server]


@pytest.fixture(scope="package")
def servers() -> Iterator[Servers]:
    """Servers of everything that the tests of vectors drive, started when they are first asked for."""
    with ExitStack() as running:

        @cache
        def serve(_: int, guard: Guard) -> Server:
            return running.enter_context(Server(HOSTED, **SETTINGS, **guard.settings))

        yield serve


@pytest.fixture
def guard(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Guard:
    """The access settings of the servers and the clients' credentials; most tests have none."""
    made = GUARDS[getattr(request, "param", IN_THE_CLEAR)]()
    made.enter(monkeypatch)
    return made


@pytest.fixture
def vector_server(servers: Servers, guard: Guard) -> Server:
    """A server."""
    return servers(1, guard)


@pytest.fixture
def second_server(servers: Servers, guard: Guard) -> Server:
    """Another one."""
    return servers(2, guard)
