"""A grid world with dict observations: move to a target, placed anew in every episode."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from envwire.envs import spaces
from envwire.envs._env import Info, Options
from envwire.envs.core import Env
from envwire.envs.envs.drawing import Canvas, Color, is_unrendered, render_metadata

Observation: TypeAlias = dict[str, NDArray[np.int64]]

#: (right, up) of each action.
_MOVES = np.array([(1, 0), (0, 1), (-1, 0), (0, -1)], dtype=np.int64)
_GRID_COLOR: Color = (210, 210, 210)
_TARGET_COLOR: Color = (220, 70, 70)
_AGENT_COLOR: Color = (60, 90, 200)


class GridWorldEnv(Env["Observation", "int | np.integer[Any]"]):
    """A square grid with an agent and a target on different squares.

    An action is 0 right, 1 up, 2 left, 3 down; a move over the edge stays. An observation is
    ``{"agent": ..., "target": ...}``, the squares as int64 of shape (2,), (0, 0) at the lower left.
    ``info["distance"]`` is the number of moves to the target. Reaching it earns 1.0 and terminates.

    Args:
        render_mode: ``"rgb_array"``, ``"ansi"`` or ``None``.
        size: The number of squares along a side, at least 2.

    Raises:
        ValueError: ``size`` is below 2.
    """

    metadata = render_metadata("rgb_array", "ansi", fps=4)

    def __init__(self, render_mode: str | None = None, size: int = 5) -> None:
        if size < 2:
            raise ValueError(f"size must be at least 2, to hold the agent and the target: {size}")
        self.size = size
        self.render_mode = render_mode
        self.reward_range = (0.0, 1.0)
        square = spaces.Box(0, size - 1, shape=(2,), dtype=np.int64)
        target = spaces.Box(0, size - 1, shape=(2,), dtype=np.int64)
        self.observation_space = spaces.Dict({"agent": square, "target": target})
        self.action_space = spaces.Discrete(len(_MOVES))
        self.agent: NDArray[np.int64] | None = None
        self.target: NDArray[np.int64] | None = None

    def reset(
        self, *, seed: int | None = None, options: Options = None
    ) -> tuple[Observation, Info]:
        """Puts the agent and the target on two squares at random."""
        super().reset(seed=seed, options=options)
        squares = self.np_random.choice(self.size**2, size=2, replace=False)
        self.agent, self.target = (np.array(divmod(int(each), self.size)) for each in squares)
        return self._observe()

    def step(self, action: int | np.integer[Any]) -> tuple[Observation, float, bool, bool, Info]:
        """Moves one square.

        Raises:
            AssertionError: The action is not 0 to 3, or there was no reset yet.
        """
        if not self.action_space.contains(action):
            raise AssertionError(f"action {action!r} ({type(action)}) invalid: expected 0 to 3")
        if self.agent is None:
            raise AssertionError("Call reset before using step method.")
        self.agent = np.minimum(np.maximum(self.agent + _MOVES[action], 0), self.size - 1)
        observation, info = self._observe()
        terminated = info["distance"] == 0
        return observation, float(terminated), terminated, False, info

    def _observe(self) -> tuple[Observation, Info]:
        agent, target = np.array(self.agent), np.array(self.target)
        distance = int(np.abs(agent - target).sum())
        return {"agent": agent, "target": target}, {"distance": distance}

    def render(self) -> NDArray[np.uint8] | str | None:
        """Draws the grid, as 512 pixels a side or as text with A and T."""
        if is_unrendered(self) or self.agent is None or self.target is None:
            return None
        marks = {tuple(self.target.tolist()): "T", tuple(self.agent.tolist()): "A"}
        return self._text(marks) if self.render_mode == "ansi" else self._picture(marks)

    def _text(self, marks: dict[tuple[int, ...], str]) -> str:
        rows = range(self.size - 1, -1, -1)
        lines = ("".join(marks.get((x, y), ".") for x in range(self.size)) for y in rows)
        return "\n".join(lines) + "\n"

    def _picture(self, marks: dict[tuple[int, ...], str]) -> NDArray[np.uint8]:
        side = 512 / self.size
        canvas = Canvas(512, 512)
        for line in range(1, self.size):
            canvas.polyline([(line * side, 0), (line * side, 511)], _GRID_COLOR)
            canvas.polyline([(0, line * side), (511, line * side)], _GRID_COLOR)
        for (x, y), mark in marks.items():
            left, bottom = x * side, y * side
            if mark == "T":
                corner = (left + side - 2, bottom + side - 2)
                canvas.rectangle((left + 2, bottom + 2), corner, _TARGET_COLOR)
            else:
                middle = (left + side / 2, bottom + side / 2)
                canvas.disc(middle, side / 3, _AGENT_COLOR)
        return canvas.frame()
