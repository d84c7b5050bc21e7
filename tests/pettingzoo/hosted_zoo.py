"""PettingZoo environments that the tests' server registers, as an operator would."""

from __future__ import annotations

from typing import Any

import numpy as np
import pettingzoo
from gymnasium import spaces


class Refusal(Exception):
    """What `Countdown` raises; a class that no client knows."""


class Countdown(pettingzoo.ParallelEnv):
    """Agent n is out after n steps: by itself when n is even, by the clock when it is odd. Agents are numbers."""

    metadata = {"name": "countdown_v0", "render_modes": ["ansi"]}

    def __init__(
        self, agents: int = 3, refused: int | None = None, render_mode: str | None = None
    ) -> None:
        self.possible_agents = list(range(1, agents + 1))
        self.render_mode = render_mode
        self._space = spaces.Discrete(2)
        self._refused = refused
        self.closed = 0

    def observation_space(self, agent: int) -> spaces.Space[Any]:
        return spaces.Box(0, 99, (agent,), np.int16)

    def action_space(self, agent: int) -> spaces.Space[Any]:
        return self._space

    def reset(self, seed: Any = None, options: Any = None) -> Any:
        self.agents, self.time = list(self.possible_agents), 0
        return self._observations(), {agent: {"seed": seed} for agent in self.agents}

    def step(self, actions: Any) -> Any:
        if self._refused in actions.values():
            raise Refusal(f"not {self._refused}")
        for action in actions.values():
            _ = {0: "stay", 1: "go"}[action]
        self.time += 1
        out = {agent: agent <= self.time for agent in self.agents}
        result = (
            self._observations(),
            {agent: np.float32(self.time / agent) for agent in self.agents},
            {agent: done and agent % 2 == 0 for agent, done in out.items()},
            {agent: done and agent % 2 == 1 for agent, done in out.items()},
            {agent: {"time": (self.time,)} for agent in self.agents},
        )
        self.agents = [agent for agent in self.agents if not out[agent]]
        return result

    def _observations(self) -> Any:
        return {agent: np.full(agent, self.time, np.int16) for agent in self.agents}

    def state(self) -> Any:
        return np.array([self.time, len(self.agents)])

    def render(self) -> Any:
        return f"{self.time}"

    def doubled(self, number: int) -> int:
        return 2 * number


class Nameless(Countdown):
    """Does not say which agents may appear."""

    def __init__(self) -> None:
        super().__init__()
        del self.possible_agents


def countdown_in_turns(**kwargs: Any) -> Any:
    return pettingzoo.utils.parallel_to_aec(Countdown(**kwargs))


pettingzoo.register("parallel", "tests/countdown-v0", Countdown)
pettingzoo.register("aec", "tests/countdown-v0", countdown_in_turns)
pettingzoo.register("parallel", "tests/nameless-v0", Nameless)
