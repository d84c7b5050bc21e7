"""A farm on Ray that grows while Makes wait, and shrinks when its slots are free; what still steps goes on."""

from __future__ import annotations

from collections.abc import Iterator

import gymnasium
import pytest

from envwire.client.gymnasium import RemoteEnv, RemoteVectorEnv
from envwire.testing.comparing import identical
from tests.containers.engine import wait_until
from tests.farm.scene import ENV
from tests.ray.cluster import MARKS, Cluster, cluster

SLOTS, MAX = 4, 3

pytestmark = MARKS


@pytest.fixture
def farm(monkeypatch: pytest.MonkeyPatch) -> Iterator[Cluster]:
    bounds = ("-n", "1", "--min", "1", "--max", str(MAX), "--free", "1", "--idle", "1")
    slots = ("--max-sessions", str(SLOTS), "--drain-timeout", "20")
    with cluster(monkeypatch, *bounds, *slots) as running:
        yield running


def test_servers_come_while_makes_wait_and_go_when_slots_are_free(farm: Cluster) -> None:
    assert len(farm.usable()) == 1
    env = RemoteEnv(farm.target, ENV, on_lost="replay")
    twin = gymnasium.make(ENV)
    seen = [[each.reset(seed=7)] for each in (env, twin)]
    envs = RemoteVectorEnv(farm.target, ENV, num_envs=10, sessions=10)  # more than one server holds
    envs.reset(seed=3)
    assert len(farm.usable()) == MAX
    envs.close()

    def is_small_again() -> bool:
        for each, steps in zip((env, twin), seen, strict=True):
            steps.append(each.step(len(steps) % 2))
            if steps[-1][2]:
                steps.append(each.reset())
        return len(farm.usable()) == 1

    wait_until(is_small_again)
    assert identical(*seen)
    assert env.connection_stats.lost == 0
    env.close()
