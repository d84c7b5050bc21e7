"""PPO over a farm on a Ray cluster of which a node is removed: the weights are those of an undisturbed training."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.containers.engine import wait_until
from tests.farm.training import check_training
from tests.ray.cluster import MARKS, NODES, Cluster, cluster

pytestmark = MARKS


@pytest.fixture
def farm(monkeypatch: pytest.MonkeyPatch) -> Iterator[Cluster]:
    with cluster(monkeypatch, "-n", str(NODES), "--drain-timeout", "0") as running:
        yield running


def test_a_node_is_removed_in_the_middle_of_training(farm: Cluster) -> None:
    def await_servers() -> None:  # until Ray has restarted the lost server on another node
        wait_until(lambda: len(farm.usable()) == NODES)

    events = {100: farm.remove_node, 220: await_servers, 280: farm.remove_node}
    check_training(farm.target, events, 2)
