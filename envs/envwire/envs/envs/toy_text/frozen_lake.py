"""The frozen lake: cross the ice to the goal without falling into a hole, while it is slippery."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from envwire.envs import spaces
from envwire.envs._env import Info, Options
from envwire.envs.core import Env
from envwire.envs.envs.drawing import Canvas, Color, is_unrendered, render_metadata
from envwire.envs.utils import seeding
from envwire.envs.utils.colorize import colorize

#: (probability, next state, reward, terminated).
Transition: TypeAlias = tuple[float, int, float, bool]

LEFT, DOWN, RIGHT, UP = range(4)
_NAMES = ("Left", "Down", "Right", "Up")
_MOVES = {LEFT: (0, -1), DOWN: (1, 0), RIGHT: (0, 1), UP: (-1, 0)}

MAPS = {
    "4x4": ["SFFF", "FHFH", "FFFH", "HFFG"],
    "8x8": [
        "SFFFFFFF",
        "FFFFFFFF",
        "FFFHFFFF",
        "FFFFFHFF",
        "FFFHFFFF",
        "FHHFFFHF",
        "FHFFHFHF",
        "FFFHFFFG",
    ],
}

_TILE_COLORS: dict[bytes, Color] = {
    b"S": (180, 220, 180),
    b"F": (220, 235, 250),
    b"H": (220, 235, 250),
    b"G": (250, 220, 120),
}
_EDGE_COLOR: Color = (180, 200, 230)
_HOLE_COLOR: Color = (40, 60, 110)
_AGENT_COLOR: Color = (200, 60, 60)


class FrozenLakeEnv(Env["int | np.integer[Any]", "int | np.integer[Any]"]):
    """One lake.

    An action is 0 left, 1 down, 2 right, 3 up. An observation is the number of the square, row by
    row, a Python int. Reaching the goal earns 1 and terminates, falling into a hole terminates.
    ``info["prob"]`` is the probability of what happened.

    Args:
        render_mode: ``"ansi"``, ``"rgb_array"`` or ``None``.
        desc: The map: strings of S (start), F (ice), H (hole) and G (goal).
        map_name: ``"4x4"`` or ``"8x8"`` if there is no ``desc``; ``None`` for a random 8x8.
        is_slippery: Whether a move may go off to either side instead.
        success_rate: The probability that a move on slippery ice goes in the chosen direction.
        reward_schedule: What reaching the goal, a hole and ice earns.

    Attributes:
        P: ``P[state][action]``, a list of (probability, next state, reward, terminated).
    """

    metadata = render_metadata("ansi", "rgb_array", fps=4)

    def __init__(
        self,
        render_mode: str | None = None,
        desc: list[str] | None = None,
        map_name: str | None = "4x4",
        is_slippery: bool = True,
        success_rate: float = 1.0 / 3.0,
        reward_schedule: tuple[float, float, float] = (1, 0, 0),
    ) -> None:
        if desc is None:
            desc = generate_random_map() if map_name is None else MAPS[map_name]
        self.desc: NDArray[np.bytes_] = np.asarray(desc, dtype="c")
        self.nrow: int
        self.ncol: int
        self.nrow, self.ncol = self.desc.shape
        self.render_mode = render_mode
        self.reward_range = (min(reward_schedule), max(reward_schedule))
        starts = np.ravel(self.desc == b"S").astype(np.float64)
        self.initial_state_distrib = starts / starts.sum()
        fail_rate = (1.0 - success_rate) / 2.0
        #: The probabilities that a move turns left, goes straight, turns right.
        self._turns = (fail_rate, success_rate, fail_rate) if is_slippery else (1.0,)
        goal, hole, ice = reward_schedule
        rewards = {b"G": goal, b"H": hole, b"F": ice}
        states, actions = self.nrow * self.ncol, len(_MOVES)
        self.P: dict[int, dict[int, list[Transition]]] = {
            state: {action: self._outcomes(state, action, rewards) for action in range(actions)}
            for state in range(states)
        }
        self.observation_space = spaces.Discrete(states)
        self.action_space = spaces.Discrete(actions)
        self.s: int | None = None
        self.lastaction: int | None = None

    def _outcomes(self, state: int, action: int, rewards: dict[bytes, float]) -> list[Transition]:
        if self._tile(state) in (b"G", b"H"):
            return [(1.0, state, 0, True)]
        side = len(self._turns) // 2
        outcomes: list[Transition] = []
        for turn, probability in enumerate(self._turns, start=-side):
            there = self._neighbour(state, (action + turn) % len(_MOVES))
            tile = self._tile(there)
            earned = rewards.get(tile, rewards[b"F"])
            outcomes.append((probability, there, earned, tile in (b"G", b"H")))
        return outcomes

    def _neighbour(self, state: int, move: int) -> int:
        """The state one square on, or the same at the edge of the map."""
        row, col = divmod(state, self.ncol)
        down, right = _MOVES[move]
        row = min(max(row + down, 0), self.nrow - 1)
        col = min(max(col + right, 0), self.ncol - 1)
        return row * self.ncol + col

    def _tile(self, state: int) -> bytes:
        tile: bytes = self.desc[divmod(state, self.ncol)].item()
        return tile

    def step(self, action: int | np.integer[Any]) -> tuple[int, float, bool, bool, Info]:
        """Moves one square, perhaps.

        Raises:
            AssertionError: There was no reset yet.
        """
        if self.s is None:
            raise AssertionError("Call reset before using step method.")
        transitions = self.P[self.s][int(action)]
        chosen = categorical_sample((each[0] for each in transitions), self.np_random)
        probability, self.s, reward, terminated = transitions[chosen]
        self.lastaction = int(action)
        return self.s, reward, terminated, False, {"prob": probability}

    def reset(self, *, seed: int | None = None, options: Options = None) -> tuple[int, Info]:
        """Goes to the start (one of them, if there are several)."""
        super().reset(seed=seed, options=options)
        self.s = categorical_sample(self.initial_state_distrib.tolist(), self.np_random)
        self.lastaction = None
        return self.s, {"prob": 1}

    def render(self) -> str | NDArray[np.uint8] | None:
        """Draws the map and the agent, as text or as at most 512 pixels a side."""
        if is_unrendered(self) or self.s is None:
            return None
        return self._text(self.s) if self.render_mode == "ansi" else self._picture(self.s)

    def _text(self, state: int) -> str:
        tiles = [[tile.decode() for tile in row] for row in self.desc.tolist()]
        row, col = divmod(state, self.ncol)
        tiles[row][col] = colorize(tiles[row][col], "red", highlight=True)
        last = "" if self.lastaction is None else f"  ({_NAMES[self.lastaction]})"
        return "\n".join([last, *map("".join, tiles), ""])

    def _picture(self, state: int) -> NDArray[np.uint8]:
        width, height = min(64 * self.ncol, 512), min(64 * self.nrow, 512)
        tile_width, tile_height = width // self.ncol, height // self.nrow
        radius = 0.35 * min(tile_width, tile_height)
        canvas = Canvas(width, height, _EDGE_COLOR)
        for square in range(self.nrow * self.ncol):
            row, col = divmod(square, self.ncol)
            left, bottom = col * tile_width, height - (row + 1) * tile_height
            right, top = left + tile_width - 2, bottom + tile_height - 2
            tile = self._tile(square)
            canvas.rectangle((left + 1, bottom + 1), (right, top), _TILE_COLORS[tile])
            middle = ((left + right) / 2, (bottom + top) / 2)
            if tile == b"H":
                canvas.disc(middle, radius, _HOLE_COLOR)
            if square == state:
                canvas.disc(middle, 0.7 * radius, _AGENT_COLOR)
        return canvas.frame()


def categorical_sample(probabilities: Iterable[float], rng: np.random.Generator) -> int:
    """Draws an index with these probabilities, by one uniform number."""
    draw, total = rng.random(), 0.0
    for index, probability in enumerate(probabilities):
        total += probability
        if total > draw:
            return index
    return 0  # the probabilities add up to less than 1


def generate_random_map(size: int = 8, p: float = 0.8, seed: int | None = None) -> list[str]:
    """Returns a random map on which there is a way to the goal.

    Args:
        size: The number of rows and of columns.
        p: The probability that a square is ice.
        seed: Seed of the draws; ``None`` for entropy.
    """
    rng, _ = seeding.np_random(seed)
    p = min(1, p)
    while True:
        board = rng.choice(["F", "H"], (size, size), p=[p, 1 - p])
        board[0][0], board[-1][-1] = "S", "G"
        if is_valid(board.tolist(), size):
            return ["".join(row) for row in board.tolist()]


def is_valid(board: Sequence[Sequence[str]], max_size: int) -> bool:
    """Whether a way leads from the upper left corner to a goal."""
    frontier, seen = [(0, 0)], {(0, 0)}
    while frontier:
        row, col = frontier.pop()
        if board[row][col] == "G":
            return True
        for down, right in _MOVES.values():
            there = row + down, col + right
            inside = min(there) >= 0 and max(there) < max_size
            if inside and there not in seen and board[there[0]][there[1]] != "H":
                seen.add(there)
                frontier.append(there)
    return False
