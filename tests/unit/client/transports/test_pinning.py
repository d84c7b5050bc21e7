"""A name is resolved once: all later connections go to the same address."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

import pytest

from envwire.client import Credentials, ServerUnavailableError
from envwire.client._transports.resolving import pinned
from envwire.client._transports.targets import ConnectWait

PLAIN = Credentials(ca=None, cert=None, key=None, token=None)
SECURE = Credentials(ca=b"ca", cert=None, key=None, token=None)
NAME = "farm.test"
SOON = ConnectWait(5.0, refused=False)
HOSTS = tuple(f"127.0.0.{last}" for last in range(2, 6))

Listen = Callable[[str], None]


@pytest.fixture
def port(monkeypatch: pytest.MonkeyPatch) -> int:
    """A port that is free on all hosts of the name, whose addresses come in another order each time."""
    order = list(HOSTS)

    ask = socket.getaddrinfo

    def resolve(host: str, *args: Any, **kwargs: Any) -> list[Any]:
        if host != NAME:
            return ask(host, *args, flags=socket.AI_NUMERICHOST)
        order.append(order.pop(0))
        port = args[0]
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (each, port)) for each in order]

    for name in ("grpc_proxy", "https_proxy", "http_proxy"):
        monkeypatch.delenv(name, raising=False)
    with socket.create_server(("0.0.0.0", 0)) as free:
        port = free.getsockname()[1]
    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    return port


@pytest.fixture
def listen(port: int) -> Iterator[Listen]:
    with ExitStack() as stack:

        def start(host: str) -> None:
            listener = stack.enter_context(socket.socket())
            listener.bind((host, port))
            listener.listen()

        yield start


def test_a_name_becomes_the_first_address_that_takes_connections(port: int, listen: Listen) -> None:
    listen("127.0.0.4")
    address, credentials = pinned(f"{NAME}:{port}", SOON, PLAIN)
    assert address == f"127.0.0.4:{port}"
    assert credentials.override_authority == f"{NAME}:{port}"


def test_the_name_that_was_dialled_is_what_a_certificate_is_checked_for(
    port: int, listen: Listen
) -> None:
    listen("127.0.0.4")
    assert pinned(f"dns:///{NAME}:{port}", SOON, SECURE)[1].override_authority == NAME
    given = Credentials(ca=b"ca", token=None, override_authority="given.test")
    assert pinned(f"{NAME}:{port}", SOON, given)[1].override_authority == "given.test"


def test_a_list_of_addresses_becomes_one_of_them(port: int, listen: Listen) -> None:
    listen("127.0.0.3")
    target = f"ipv4:127.0.0.2:{port},127.0.0.3:{port}"
    assert pinned(target, SOON, PLAIN) == (f"127.0.0.3:{port}", PLAIN)


@pytest.mark.parametrize(
    "target",
    ["127.0.0.1:50051", "[::1]:50051", "ipv4:127.0.0.1:1", "unix:/tmp/x", "unix-abstract:x"],
)
def test_what_is_one_address_already_stays(target: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(socket, "getaddrinfo")
    assert pinned(target, SOON, PLAIN) == (target, PLAIN)


@pytest.mark.parametrize("target", ["unknown.test:1", f"dns://192.0.2.1/{NAME}:1"])
def test_what_this_machine_does_not_resolve_is_for_grpc(port: int, target: str) -> None:
    assert pinned(target, SOON, PLAIN) == (target, PLAIN)


def test_behind_a_proxy_names_are_its_own(port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("grpc_proxy", "http://192.0.2.1:3128")
    through = replace(PLAIN, http_proxy=True)
    assert pinned(f"{NAME}:{port}", SOON, through) == (f"{NAME}:{port}", through)


def test_nobody_there_is_told_by_the_name(port: int) -> None:
    with pytest.raises(ServerUnavailableError, match=f"nothing listens at {NAME}:{port}"):
        pinned(f"{NAME}:{port}", ConnectWait(0.2, refused=True), PLAIN)
