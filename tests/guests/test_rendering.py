"""Render mode "human" on the client: frames of the server, shown where the person is."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from envwire.client import RemoteEnv
from envwire.client._env.proxy import Viewer
from envwire.client.gymnasium import RemoteEnv as GymnasiumRemoteEnv
from envwire.server import Server

pytestmark = pytest.mark.filterwarnings("default")


class Screen:
    """A display that remembers."""

    def __init__(self) -> None:
        self.frames: list[Any] = []
        self.closed = 0

    def show(self, frame: Any) -> None:
        self.frames.append(frame)

    def close(self) -> None:
        self.closed += 1


@pytest.fixture
def screen(monkeypatch: pytest.MonkeyPatch) -> Screen:
    made = Screen()
    monkeypatch.setattr("envwire.client._env.proxy.default_display", lambda: made)
    return made


@pytest.fixture(params=[RemoteEnv, GymnasiumRemoteEnv], ids=["envwire", "gymnasium"])
def env(request: pytest.FixtureRequest, server: Server) -> Iterator[Any]:
    made = request.param(server.target, "MountainCar-v0", render_mode="human")
    yield made
    made.close()


def test_every_reset_and_step_is_shown(env: Any, screen: Screen, server: Server) -> None:
    seen = GymnasiumRemoteEnv(
        server.target, "MountainCar-v0", library=env._family.name, render_mode="rgb_array"
    )
    expected = []
    for made in (env, seen):
        made.reset(seed=1)
        expected.append(made.render())
        for action in (0, 1):
            made.step(action)
            expected.append(made.render())
    assert expected[:3] == [None] * 3
    assert len(screen.frames) == 3
    assert all(map(np.array_equal, screen.frames, expected[3:]))
    env.close()
    assert screen.closed == 1
    env.reset(seed=1)
    assert len(screen.frames) == 4, "reset() after close() opens a new window"
    seen.close()


def test_it_looks_like_the_local_one(env: Any) -> None:
    local: Any = gymnasium.make("MountainCar-v0", render_mode="rgb_array")
    assert env.render_mode == "human"
    assert "human" in env.metadata["render_modes"]
    assert set(local.metadata["render_modes"]) <= set(env.metadata["render_modes"])
    assert env.metadata["render_fps"] == local.metadata["render_fps"]
    assert env.spec.kwargs["render_mode"] == "human"
    local.close()


def test_a_real_window(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    pygame = pytest.importorskip("pygame")
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    env = gymnasium.make(
        "envwire/Remote-v0", target=server.target, env_id="CartPole-v1", render_mode="human"
    )
    env.reset(seed=0)
    env.step(0)
    assert env.render() is None
    assert pygame.display.get_surface().get_size() == (600, 400)
    env.close()
    assert not pygame.display.get_init()


def test_gymnasiums_checker_watches(server: Server, screen: Screen) -> None:
    env = GymnasiumRemoteEnv(server.target, "CartPole-v1", render_mode="human")
    check_env(env)
    env.close()
    assert screen.frames


def test_what_is_no_frame_is_refused() -> None:
    with pytest.raises(TypeError, match=r"rendered str instead of an array of shape"):
        Viewer({}).show("not a frame")
