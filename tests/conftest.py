"""Servers that many tests share, each a real process with real sockets; and which tests `make test` runs."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from envwire.server import Server
from tests.forked_servers import forked_servers
from tests.workers import pytest_addoption, pytest_runtestloop

__all__ = ["pytest_addoption", "pytest_runtestloop"]  # hooks

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

#: Folders whose tests `make test` leaves to `make test-all`.
SLOW = ("adversary", "farm", "groups", "guests", "languages")
TESTS = Path(__file__).parent


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leaves slow folders unread where none of their tests would run."""
    slow = collection_path.parent == TESTS and collection_path.name in SLOW
    return True if slow and "not (slow" in config.option.markexpr else None


#: Hundreds of processes import NumPy here, and a pool of threads for each costs more than the rest of NumPy.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
gc.disable()  # it would search all tests that are collected so far, again and again


def pytest_collection_finish() -> None:
    """Keeps the garbage collector from searching thousands of tests, now and whenever one of them calls it."""
    gc.enable()
    gc.collect()
    gc.freeze()


@pytest.hookimpl(tryfirst=True)  # before `-m` selects by the marks
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Marks the tests of slow folders."""
    for item in items:
        if item.path.relative_to(TESTS).parts[0] in SLOW:
            item.add_marker("slow")


@pytest.fixture(scope="session", autouse=True)
def _forked_servers() -> Iterator[None]:
    """Starts the servers of all tests sooner."""
    with forked_servers():
        yield


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    """A server of everything that the tests drive."""
    with Server(HOSTED, **SETTINGS) as running:
        yield running
