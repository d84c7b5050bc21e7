"""Valid targets, and the errors for invalid ones."""

from __future__ import annotations

from typing import Any

import pytest

from envwire.client import RemoteEnv
from envwire.client._transports.targets import checked


@pytest.mark.parametrize(
    "target",
    [
        "localhost:50051",
        "10.0.0.1:1",
        "[::1]:50051",
        "dns:///farm",
        "dns:///farm:50051",
        "ipv4:127.0.0.1:1,127.0.0.2:2",
        "unix:/run/envwire",
        "unix-abstract:envwire",
        "xds:///farm",
    ],
)
def test_what_can_be_dialled(target: str) -> None:
    assert checked(target) == target


@pytest.mark.parametrize(
    ("target", "error", "hint"),
    [
        ("localhost", ValueError, "localhost:50051"),
        ("::1", ValueError, "no port"),
        ("::1:50051", ValueError, r"'\[::1\]:50051'"),
        ("fe80::2:1", ValueError, r"'\[fe80::2\]:1'"),
        ("http://localhost:50051", ValueError, "'localhost:50051'"),
        ("https://farm.example/x", ValueError, "farm.example"),
        (b"localhost:50051", TypeError, "HOST:PORT"),
    ],
)
def test_what_cannot(target: Any, error: type[Exception], hint: str) -> None:
    with pytest.raises(error, match=hint):
        checked(target)


@pytest.mark.parametrize("target", [50051, "localhost", "http://localhost:50051"])
def test_a_proxy_says_so_at_once(target: Any) -> None:
    with pytest.raises((TypeError, ValueError), match=r"HOST:PORT|localhost:50051"):
        RemoteEnv(target, "CartPole-v1")
