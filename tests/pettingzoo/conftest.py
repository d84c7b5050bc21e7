"""A server of PettingZoo's environments: a real process with real sockets."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from typing import Any

import pytest

from envwire.server import InProcessTransport, Server
from tests.conftest import ROOT

if find_spec("pettingzoo") is None:
    collect_ignore_glob = ["test_pettingzoos_own_tests.py", "test_proxies.py", "test_rollouts.py"]
else:
    # The local environments, and the server's, which inherits it, need no screen.
    os.environ.setdefault("SDL_VIDEODRIVER", "dummy")

SERVED = (
    "pettingzoo/butterfly/*",
    "pettingzoo/classic/*",
    "pettingzoo/sisl/*",
    "pettingzoo/tests/*",
)
IMPORTS = ["tests.pettingzoo.hosted_zoo"]

#: Makes a remote environment: (kind, id, keyword arguments).
Remote = Callable[..., Any]


@pytest.fixture(scope="session")
def zoo() -> Iterator[Server]:
    """A server of PettingZoo's environments and the tests' own."""
    with Server(SERVED, imports=IMPORTS, sys_path=(ROOT,), step_timeout=20.0) as running:
        yield running


def _kind(kind: str) -> Any:
    from envwire.client import pettingzoo as faces

    return {"parallel": faces.ParallelEnv, "aec": faces.AECEnv}[kind]


@pytest.fixture
def transport() -> str:
    """The way to the server; a module may have more ways."""
    return "stream"


@pytest.fixture
def remote(transport: str, zoo: Server) -> Iterator[Remote]:
    """Makes remote environments, and closes them."""
    made: list[Any] = []
    way: Any = transport
    if way == "in process":
        way = InProcessTransport(SERVED, imports=IMPORTS)

    def make(kind: str, env_id: str, **kwargs: Any) -> Any:
        made.append(_kind(kind)(zoo.target, env_id, transport=way, **kwargs))
        return made[-1]

    yield make
    for env in made:
        env.close()
