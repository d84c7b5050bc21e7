"""`send` and `recv`: a batch of those that finish first, while the others go on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from envwire.server import Server
from envwire.testing.comparing import identical
from tests.vector.conftest import BEHIND_ANY_GUARD
from tests.vector.faces import FAMILIES, Family
from tests.vector.hosted import WAIT

pytestmark = pytest.mark.filterwarnings("default")

FAMILY = pytest.mark.parametrize("family", FAMILIES.values(), ids=FAMILIES)


@BEHIND_ANY_GUARD
@FAMILY
@pytest.mark.parametrize("transport", ["direct", "stream", "unary"])
def test_every_environment_is_served(vector_server: Server, family: Family, transport: str) -> None:
    env = family.remote(
        vector_server.target, "CartPole-v1", 6, batch_size=2, sessions=3, transport=transport
    )
    local = family.local("CartPole-v1", 6)
    firsts = local.reset(seed=4)[0]
    env.reset_async(seed=4)
    counts = np.zeros(6, int)
    rounds = 0
    # On a busy machine one session may take hundreds of steps before another one gets a processor.
    while rounds < 30 or (counts.min() == 0 and rounds < 20_000):
        rounds += 1
        observations, rewards, terminations, truncations, infos = env.recv()
        ids = infos["env_id"]
        assert observations.shape == (2, 4)
        assert {len(rewards), len(terminations), len(truncations), len(ids)} == {2}
        fresh = counts[ids] == 0
        assert identical(observations[fresh], firsts[ids][fresh])
        assert rewards[fresh].tolist() == [0.0] * int(fresh.sum())
        counts[ids] += 1
        env.send(np.zeros(2, np.int64), ids)
    assert counts.sum() == 2 * rounds
    assert counts.min() > 0
    env.close()
    local.close()


def test_the_fast_ones_do_not_wait_for_the_slow_one(vector_server: Server, tmp_path: Path) -> None:
    gate = tmp_path / "open"
    env = FAMILIES["envwire"].remote(
        vector_server.target, "vectors/Gated-v0", 4, batch_size=1, gate=str(gate)
    )
    env.reset_async()
    for _ in range(4):
        env.recv()
    env.send(np.array([WAIT, 0, 0, 0]), np.arange(4))
    finished = [int(_received(env)) for _ in range(3)]
    assert sorted(finished) == [1, 2, 3]
    for _ in range(5):
        env.send(np.array([0]), np.array([2]))
        assert _received(env) == 2
    gate.touch()
    observations, *_, infos = env.recv()
    assert (infos["env_id"].tolist(), observations.tolist()) == ([0], [[1.0]])
    env.close()


def _received(env: Any) -> Any:
    return env.recv()[-1]["env_id"][0]


def test_what_cannot_be_sent_or_received(vector_server: Server) -> None:
    family = FAMILIES["envwire"]
    env = family.remote(vector_server.target, "CartPole-v1", 6, batch_size=4, sessions=3)
    env.reset_async()
    env.recv()
    with pytest.raises(family.library.error.NoAsyncCallError, match="recv"):
        env.recv()
    for ids in ([0], [1, 0], [1, 2], [9]):
        with pytest.raises(ValueError, match="whole sessions"):
            env.send(np.zeros(len(ids), np.int64), np.array(ids))
    with pytest.raises(ValueError, match="actions"):
        env.send(np.zeros(3, np.int64), np.arange(2))
    env.send(np.zeros(4, np.int64))
    env.recv()
    env.close()
