"""Drives a server as a client on another system: `python -m tests.portability.client_program win32 HOST:PORT FRAMES`.

Prints the names of the checks that passed.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from tests.portability.another_system import pretend

SYSTEM, TARGET, FRAMES = sys.argv[1:]
pretend(SYSTEM)

import asyncio  # noqa: E402

import numpy as np  # noqa: E402
import pytest  # noqa: E402

from envwire.client import RemoteEnv, RemoteVectorEnv, ServerUnavailableError, aio  # noqa: E402
from envwire.testing import ServerCompliance, identical  # noqa: E402
from tests.faults.scene import channel_of  # noqa: E402

CARTPOLE = "CartPole-v1"
TRANSPORTS = ("unary", "stream", "direct", "direct-tcp")


class Compliance(ServerCompliance):
    """The core of the protocol, over each transport that exists here."""

    target = TARGET
    transports = TRANSPORTS


def test_the_direct_channel_is_used() -> None:
    env = RemoteEnv(TARGET, CARTPOLE)
    env.reset()
    assert channel_of(env) is not None
    env.close()


def test_large_observations_are_equal_over_each_transport() -> None:
    seen: list[Any] = []
    for transport in TRANSPORTS:
        env = RemoteEnv(TARGET, FRAMES, shape=(200, 300), chatty=True, transport=transport)
        env.reset(seed=3)
        seen.append([env.step(1) for _ in range(10)])
        env.close()
    assert all(identical(seen[0], each) for each in seen[1:])


def test_there_are_no_abstract_unix_sockets() -> None:
    with pytest.raises(ServerUnavailableError, match="Linux"):
        RemoteEnv(TARGET, CARTPOLE, transport="direct-unix")


def test_vectors_step_together_and_as_they_come() -> None:
    one = RemoteEnv(TARGET, CARTPOLE)
    envs = RemoteVectorEnv(TARGET, CARTPOLE, num_envs=4, sessions=2, batch_size=2)
    first = envs.reset(seed=1)[0]
    assert identical(first[0], one.reset(seed=1)[0])
    envs.send(np.zeros(4, np.int64), np.arange(4))
    seen = [int(index) for _ in range(2) for index in envs.recv()[4]["env_id"]]
    assert sorted(seen) == [0, 1, 2, 3]
    envs.close()
    one.close()


def test_event_loops() -> None:
    async def main(transport: str) -> Any:
        async with aio.RemoteEnv(TARGET, CARTPOLE, transport=transport) as env:
            return [await env.reset(seed=3), *[await env.step(0) for _ in range(5)]]

    env = RemoteEnv(TARGET, CARTPOLE)
    expected = [env.reset(seed=3), *[env.step(0) for _ in range(5)]]
    env.close()
    for transport in TRANSPORTS:
        assert identical(asyncio.run(main(transport)), expected)


def _checks() -> dict[str, Callable[[], object]]:
    suite = Compliance()
    named = {name: getattr(suite, name) for name in dir(suite)} | globals()
    return {name: check for name, check in named.items() if name.startswith("test_")}


for name, check in _checks().items():
    check()
    print(name, flush=True)
