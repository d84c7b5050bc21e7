"""A batch that no answer can hold is spread over more sessions, or refused when it is made."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import numpy as np
import pytest

import tests.vector.hosted  # noqa: F401 - registers them here
from envwire.client import InvalidRequestError, RemoteVectorEnv, aio
from envwire.envs import make_vec
from envwire.server import Server
from tests.vector.conftest import SETTINGS

ENV = "vectors/Large-v0"  # 14,700 bytes of pixels


@pytest.fixture(scope="module")
def target() -> Iterator[str]:
    with Server([ENV], **SETTINGS, max_message_bytes=4 * 14_700 + 1_000) as server:
        yield server.target


def test_the_default_number_of_sessions_respects_the_limit(target: str) -> None:
    local, remote = make_vec(ENV, num_envs=9), RemoteVectorEnv(target, ENV, num_envs=9)
    try:
        assert np.array_equal(remote.reset(seed=1)[0], local.reset(seed=1)[0])
        actions = np.zeros(9, np.int64)
        for _ in range(7):
            assert np.array_equal(remote.step(actions)[0], local.step(actions)[0])
    finally:
        remote.close()


def test_also_of_asyncio_programs(target: str) -> None:
    async def shape() -> tuple[int, ...]:
        async with aio.RemoteVectorEnv(target, ENV, num_envs=9) as envs:
            observations, _ = await envs.reset(seed=1)
            return tuple(observations.shape)

    assert asyncio.run(shape())[0] == 9


def test_a_number_that_is_too_small_is_refused_with_the_number_to_give(target: str) -> None:
    with pytest.raises(InvalidRequestError, match=r"\(sessions=\), at most 4 in each"):
        RemoteVectorEnv(target, ENV, num_envs=9, sessions=1)
