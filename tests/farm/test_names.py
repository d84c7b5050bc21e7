"""One name for several servers, without a gateway: every environment and vector stays where it was made.

Python's resolver is replaced: the name has four loopback addresses, in another order each time. No DNS is asked.
"""

from __future__ import annotations

import pytest

from envwire.client import RemoteEnv, RemoteVectorEnv
from tests.direct.test_names import HOSTS, port, target
from tests.farm.scene import ENV
from tests.faults.scene import active

__all__ = ["port", "target"]  # fixtures

COUNT = 100


@pytest.mark.long
def test_a_hundred_environments(target: str) -> None:
    envs = [RemoteEnv(target, ENV) for _ in range(COUNT)]
    for env in envs:
        env.reset(seed=1)
        env.step(0)
    for env in envs:
        env.close()


@pytest.mark.long
def test_a_hundred_vectors(target: str, port: int) -> None:
    for number in range(COUNT):
        envs = RemoteVectorEnv(target, ENV, num_envs=4, sessions=2)
        envs.reset(seed=number)
        envs.step(envs.action_space.sample())
        envs.close()
    assert [active(f"{host}:{port}") for host in HOSTS] == [0] * len(HOSTS)
