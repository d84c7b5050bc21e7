"""Servers of environments for vectors. Each is a real process with real sockets."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from envwire.server import Server
from tests.conftest import ROOT

HOSTED = ("vectors/*", "tests/*", "CartPole-v1", "Pendulum-v1", "FrozenLake-v1", "GridWorld-v0")
SETTINGS: dict[str, Any] = {
    "imports": ["tests.vector.hosted", "tests.hosted_envs"],
    "sys_path": (ROOT,),
    "step_timeout": 20.0,
    "max_envs_per_session": 1100,
}


@pytest.fixture(scope="package")
def vector_server() -> Iterator[Server]:
    """A server of everything that the tests of vectors drive."""
    with Server(HOSTED, **SETTINGS) as running:
        yield running


@pytest.fixture(scope="package")
def second_server() -> Iterator[Server]:
    """Another one."""
    with Server(HOSTED, **SETTINGS) as running:
        yield running
