"""Keyword arguments of environments whose names Python or `make` uses as well."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest

import envwire.client
import envwire.client.gymnasium
from envwire.client import InvalidRequestError, aio
from envwire.server import Server
from tests.compliance.pitfall_envs import Keywords

ROOT = str(Path(__file__).parent.parent.parent)
ENV = f"pitfalls/{Keywords.__name__}-v0"


@pytest.fixture(scope="module")
def target() -> Iterator[str]:
    imports = ["tests.compliance.pitfall_envs"]
    with Server([ENV], imports=imports, sys_path=(ROOT,)) as running:
        yield running.target


def _reset(env: Any) -> dict[str, Any]:
    info: dict[str, Any] = env.reset()[1]
    env.close()
    return info


async def _make_async(face: Any, target: str, **kwargs: Any) -> dict[str, Any]:
    async with await face.make(target, ENV, **kwargs) as env:
        info: dict[str, Any] = (await env.reset())[1]
        return info


def _asyncio(face: Any) -> Callable[..., dict[str, Any]]:
    return lambda target, **kwargs: asyncio.run(_make_async(face, target, **kwargs))


def _blocking(face: Any) -> Callable[..., dict[str, Any]]:
    return lambda target, **kwargs: _reset(face(target, ENV, **kwargs))


def _made(target: str, **kwargs: Any) -> dict[str, Any]:
    return _reset(gymnasium.make("envwire/Remote-v0", target=target, env_id=ENV, **kwargs))


#: Make an environment, reset it and close it; return the info, which is what the environment got.
FACES: dict[str, Callable[..., dict[str, Any]]] = {
    "env": _blocking(envwire.client.RemoteEnv),
    "gymnasium env": _blocking(envwire.client.gymnasium.RemoteEnv),
    "gymnasium.make": _made,
    "aio": _asyncio(aio.RemoteEnv),
    "vector": _blocking(envwire.client.RemoteVectorEnv),
    "gymnasium vector": _blocking(envwire.client.gymnasium.RemoteVectorEnv),
    "aio vector": _asyncio(aio.RemoteVectorEnv),
}


@pytest.mark.parametrize("face", FACES)
def test_self_reaches_the_environment_as_in_gymnasium(target: str, face: str) -> None:
    local = _reset(gymnasium.make(ENV, self=3, cls=4))
    assert local == {"self": 3, "cls": 4}
    for given in ({"self": 3, "cls": 4}, {"env_kwargs": {"self": 3, "cls": 4}}):
        got = FACES[face](target, **given)
        assert all(np.ravel(got[name]).tolist() == [value] for name, value in local.items())


@pytest.mark.parametrize("face", FACES)
def test_id_is_refused_by_name_since_make_takes_it(target: str, face: str) -> None:
    with pytest.raises(TypeError, match="multiple values for argument 'id'"):
        gymnasium.make(ENV, id=3)  # type: ignore[misc]
    with pytest.raises(InvalidRequestError, match=r"id among .* takes that itself"):
        FACES[face](target, env_kwargs={"id": 3})


def test_a_spec_makes_an_environment_with_self_again(target: str) -> None:
    env = envwire.client.gymnasium.RemoteEnv(target, ENV, self=3)
    assert env.spec is not None
    assert _reset(gymnasium.make(env.spec))["self"] == 3
    env.close()
