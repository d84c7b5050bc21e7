"""`Conformance/EverySpace-v0`: one space of each kind."""

from __future__ import annotations

from typing import Any

import numpy as np

from envwire.envs import spaces
from envwire.envs._generic import Info, Options
from envwire.envs.core import Env


def _every_space() -> spaces.Dict:
    shared = spaces.Discrete(3)
    return spaces.Dict(
        {
            "box": spaces.Box(np.array([-1, -np.inf], "f4"), np.array([1, np.inf], "f4")),
            "discrete": spaces.Discrete(5, start=-2),
            "multi_binary": spaces.MultiBinary([2, 3]),
            "multi_discrete": spaces.MultiDiscrete([3, 4], start=[0, 10]),
            "text": spaces.Text(4, min_length=1, charset="ab"),
            "tuple": spaces.Tuple((shared, shared)),
            "one_of": spaces.OneOf((spaces.Discrete(2), spaces.Box(0, 1, (1,), np.float64))),
            "sequence": spaces.Sequence(spaces.Discrete(4)),
            "stacked": spaces.Sequence(spaces.Box(0, 1, (2,), np.float32), stack=True),
            "graph": spaces.Graph(spaces.Box(0, 1, (2,), np.float32), spaces.Discrete(3)),
        }
    )


class EverySpaceEnv(Env[Any, Any]):
    """Observation and action space are a `Dict` with every kind of space; its tuple holds one space twice.

    An observation is a sample of the space, which each reset with a seed seeds; a step accepts any action.
    """

    def __init__(self, render_mode: str | None = None) -> None:
        self.render_mode = render_mode
        self.observation_space = _every_space()
        self.action_space = _every_space()

    def reset(self, *, seed: int | None = None, options: Options = None) -> tuple[Any, Info]:
        """Returns a sample."""
        super().reset(seed=seed, options=options)
        if seed is not None:
            self.observation_space.seed(seed)
        return self.observation_space.sample(), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, Info]:
        """Returns a sample, and in the info whether the action was in the space."""
        contained = self.action_space.contains(action)
        return self.observation_space.sample(), 0.0, False, False, {"contained": contained}
