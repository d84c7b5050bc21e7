"""The kinds of environment that must behave equally: local, and remote over each transport, in both libraries."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gymnasium
import pytest

import envwire.envs
import tests.hosted_envs  # noqa: F401 - registers what the local face makes
from envwire.client import RemoteEnv
from envwire.client.gymnasium import RemoteEnv as GymnasiumRemoteEnv
from envwire.server import InProcessTransport
from tests.conftest import HOSTED
from tests.secured import secured, strict

#: Makes an environment: (target, id, keyword arguments).
Face = Callable[..., Any]


def in_process() -> InProcessTransport:
    """Returns a transport that serves the test server's environments in this process."""
    return InProcessTransport(
        HOSTED, imports=["tests.hosted_envs"], allow_wrappers=["tests.hosted_envs:Doubling"]
    )


def _local(_: str, env_id: str, **kwargs: Any) -> Any:
    return envwire.envs.make(env_id, **kwargs)


def _in_process(_: str, env_id: str, **kwargs: Any) -> Any:
    return RemoteEnv(None, env_id, transport=in_process(), **kwargs)


def _remote(transport: str) -> Face:
    def make(target: str, env_id: str, **kwargs: Any) -> Any:
        return RemoteEnv(target, env_id, transport=transport, **kwargs)

    return make


def _secured(transport: str) -> Face:
    """Drives a separate server that requires a client certificate and a token."""

    def make(_: str, env_id: str, **kwargs: Any) -> Any:
        settings: dict[str, Any] = {"transport": transport, "credentials": strict().credentials}
        return RemoteEnv(secured().target, env_id, **settings, **kwargs)

    return make


def _gymnasium(target: str, env_id: str, **kwargs: Any) -> Any:
    return GymnasiumRemoteEnv(target, env_id, **kwargs)


def _gymnasium_make(target: str, env_id: str, **kwargs: Any) -> Any:
    return gymnasium.make("envwire/Remote-v0", target=target, env_id=env_id, **kwargs)


LOCAL: dict[str, Face] = {"local": _local}
REMOTE: dict[str, Face] = {
    "in process": _in_process,
    "direct over a Unix socket": _remote("direct-unix"),
    "unary": _remote("unary"),
    "stream": _remote("stream"),
    "direct over TCP": _remote("direct-tcp"),
    "unary, mTLS and token": _secured("unary"),
    "stream, mTLS and token": _secured("stream"),
    "direct, mTLS and token": _secured("direct-tcp"),
    "gymnasium face": _gymnasium,
    "gymnasium.make": _gymnasium_make,
}
ALL = LOCAL | REMOTE
#: Faces of a guard and a transport that others have: the guard stands before every transport.
COMBINED = ("unary, mTLS and token", "stream, mTLS and token")
#: For tests of the contract that `make test` holds every face to. The other tests run here, in process and over one
#: socket; `make test-all` runs all of them with every face.
CONTRACT = pytest.mark.parametrize(
    "face",
    [
        pytest.param(face, id=name, marks=[pytest.mark.slow] * (name in COMBINED))
        for name, face in ALL.items()
    ],
    indirect=True,
)
CORE = len(LOCAL) + 2
