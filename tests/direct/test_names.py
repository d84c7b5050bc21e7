"""Many servers behind one name: each environment stays on the server that made it."""

from __future__ import annotations

import itertools
import socket
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from envwire.client import RemoteEnv
from envwire.server import Server
from tests.faults.scene import active

NAME = "farm.test"
HOSTS = ("127.0.0.2", "127.0.0.3")


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    with socket.create_server(("0.0.0.0", 0)) as free:
        port = int(free.getsockname()[1])
    with ExitStack() as stack:
        for host in HOSTS:
            stack.enter_context(
                Server(["CartPole-v1"], host=host, port=port, sessions_per_process=64)
            )
        yield port


@pytest.fixture
def target(port: int, monkeypatch: pytest.MonkeyPatch) -> str:
    """A name whose addresses rotate with each lookup, as in DNS."""
    turns = itertools.count()
    ask = socket.getaddrinfo

    def resolve(host: str, port: Any, *args: Any, **kwargs: Any) -> list[Any]:
        if host != NAME:
            return ask(host, port, *args, **kwargs)
        first = next(turns) % len(HOSTS)
        hosts = HOSTS[first:] + HOSTS[:first]
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (each, port)) for each in hosts]

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    return f"{NAME}:{port}"


@pytest.mark.parametrize("transport", ["unary", "stream", "direct-tcp"])
def test_all_of_many_clients_find_their_sessions(target: str, port: int, transport: str) -> None:
    envs = [RemoteEnv(target, "CartPole-v1", transport=transport) for _ in range(8)]
    assert [active(f"{host}:{port}") for host in HOSTS] == [4, 4]
    for env in envs:
        env.reset(seed=1)
        env.step(0)
        env.close()
    assert [active(f"{host}:{port}") for host in HOSTS] == [0, 0]
