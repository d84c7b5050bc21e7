"""Servers that many tests share. Each is a real process with real sockets."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from envwire.server import Server

HOSTED = (
    "tests/*",
    "CartPole-v1",
    "Pendulum-v1",
    "Acrobot-v1",
    "MountainCar-v0",
    "MountainCarContinuous-v0",
    "FrozenLake-v1",
    "GridWorld-v0",
    "Taxi-v*",
    "Blackjack-v1",
    "CliffWalking-v*",
)
ROOT = str(Path(__file__).parent.parent)
SETTINGS: dict[str, Any] = {
    "imports": ["tests.hosted_envs"],
    "allow_wrappers": ["tests.hosted_envs:Doubling"],
    "sys_path": (ROOT,),
    "step_timeout": 20.0,
}


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    """A server of everything that the tests drive."""
    with Server(HOSTED, **SETTINGS) as running:
        yield running
