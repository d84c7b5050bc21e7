"""An environment for TRL's `environment_factory` around a remote one: `make examples` plays it without a model.

TRL makes a tool of each public method except `reset` and `get_reward`, and reads its docstring. Therefore it gets this
class instead of `RemoteEnv` itself.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from envwire.client import RemoteEnv
from envwire.server import Server

MOVES = {"left": 0, "down": 1, "right": 2, "up": 3}


class FrozenLake:
    """A frozen lake on which a language model walks."""

    def __init__(self, target: str) -> None:
        self._env = RemoteEnv(target, "FrozenLake-v1", render_mode="ansi", is_slippery=False)
        self._reward = 0.0

    def __del__(self) -> None:
        self._env.close()

    def reset(self, **row: Any) -> str:
        """Begins an episode; the row of the dataset may name its seed."""
        self._env.reset(seed=row.get("seed"))
        self._reward = 0.0
        return str(self._env.render())

    def act(self, action: str) -> str:
        """Walks one step.

        Args:
            action: Where to: left, down, right or up.

        Returns:
            The map after the step, or that the episode is over.
        """
        if action not in MOVES:
            return f"say one of {', '.join(MOVES)}"
        _, reward, terminated, truncated, _ = self._env.step(MOVES[action])
        self._reward += float(reward)
        return "the episode is over" if terminated or truncated else str(self._env.render())

    def get_reward(self) -> float:
        """Returns the reward of the episode so far."""
        return self._reward


def main() -> None:
    """Walks to the goal; `GRPOTrainer(..., environment_factory=factory)` takes the same factory."""
    with Server(["FrozenLake-v1"]) as server:
        factory = partial(FrozenLake, server.target)
        lake = factory()
        print(lake.reset(seed=1))
        for action in ("down", "down", "right", "right", "down", "right"):
            said = lake.act(action)
        print(f"{said}; reward {lake.get_reward()}")
        assert lake.get_reward() == 1.0
        del lake


if __name__ == "__main__":
    main()
