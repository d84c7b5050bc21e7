"""Environments and agents in torch: what they return and send travels as the values that it stands for.

`make test-agents` installs what this needs; elsewhere it is skipped.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest

from envwire.client.gymnasium import RemoteEnv
from envwire.server import Server

torch = pytest.importorskip("torch", reason="make test-agents installs it")

ENV_ID = "tensors/Torch-v0"


class Torch(gymnasium.Env[Any, Any]):
    """Computes in torch; its episodes take five steps."""

    observation_space = gymnasium.spaces.Box(-np.inf, np.inf, (3,), np.float32)
    action_space = gymnasium.spaces.Box(-1, 1, (2,), np.float32)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        super().reset(seed=seed)
        self.steps = 0
        return torch.zeros(3), {}

    def step(self, action: Any) -> Any:
        self.steps += 1
        reward = torch.as_tensor(action).sum().requires_grad_()
        return (
            torch.full((3,), self.steps),
            reward,
            torch.tensor(self.steps == 5),
            torch.tensor(False),
            {},
        )


gymnasium.register(ENV_ID, entry_point=Torch, disable_env_checker=True)


@pytest.fixture(scope="module")
def target() -> Iterator[str]:
    root = str(Path(__file__).parents[2])
    with Server([ENV_ID], imports=["tests.agents.test_tensors"], sys_path=(root,)) as server:
        yield server.target


def test_an_episode_in_torch_is_the_local_one(target: str) -> None:
    local, action = gymnasium.make(ENV_ID), torch.tensor([0.25, 0.5])
    with RemoteEnv(target, ENV_ID) as env:
        env.reset(seed=1), local.reset(seed=1)
        for number in range(1, 6):
            taken, expected = env.step(action), local.step(action)
            assert np.array_equal(taken[0], expected[0])
            assert float(taken[1]) == float(expected[1].detach())
            assert bool(taken[2]) == bool(expected[2]) == (number == 5)
    local.close()
