"""`envwire run --render` films what an environment renders."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import numpy as np

from envwire.client import RemoteEnv
from envwire.envs.spaces import Discrete
from envwire.server.cli._drive.evaluation import FrameRecorder, run_episodes
from envwire.server.cli._drive.own_code import load_policy


class Still:
    """An environment of one step, whose metadata give no frame rate."""

    metadata: dict[str, Any] = {"render_fps": None}
    action_space = Discrete(2)

    def reset(self, *, seed: int) -> tuple[int, dict[str, Any]]:
        return seed, {}

    def step(self, action: int) -> tuple[int, float, bool, bool, dict[str, Any]]:
        return action, 1.0, True, False, {}

    def render(self) -> Any:
        return np.zeros((4, 4, 3), np.uint8)


def test_a_film_of_an_environment_without_a_frame_rate(tmp_path: Path) -> None:
    film = FrameRecorder("gif", tmp_path / "still.gif")
    env = cast("RemoteEnv", Still())
    run_episodes(env, load_policy("random"), 1, 0, 10, film, bar=False)
    assert film.path.read_bytes().startswith(b"GIF")
