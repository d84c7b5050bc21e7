"""The plugin for LeRobot, against what LeRobot 0.6.1 expects of one; without LeRobot a stub stands for it."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("gymnasium", minversion="1.1", reason="RemoteVectorEnv resets in the same step")

import gymnasium

from envwire.server import Server
from tests.conftest import SETTINGS

_ROOT = Path(__file__).parents[2]
_PATHS = [_ROOT / "integrations" / "lerobot"]
if importlib.util.find_spec("lerobot") is None:
    _PATHS.append(_ROOT / "tests" / "lerobot" / "stub")


@pytest.fixture(scope="module")
def target() -> Iterator[str]:
    settings = {
        "imports": [str(Path(__file__).with_name("hosted.py"))],
        "sys_path": SETTINGS["sys_path"],
    }
    with Server(["tests/*", "CartPole-v1", "Pendulum-v1"], **settings) as server:
        yield server.target


@pytest.fixture(scope="module")
def plugin() -> Iterator[Any]:
    sys.path[:0] = map(str, _PATHS)
    try:
        yield importlib.import_module("lerobot_env_envwire")
    finally:
        del sys.path[: len(_PATHS)]


def _shapes(config: Any) -> dict[str, tuple[str, tuple[int, ...]]]:
    """Returns kind and shape of each feature by the policy's name."""
    return {
        config.features_map[name]: (feature.type.value, tuple(feature.shape))
        for name, feature in config.features.items()
    }


def test_features_are_those_of_the_servers_spaces(plugin: Any, target: str) -> None:
    config = plugin.EnvwireEnv(target=target, env_id="tests/Robot-v0")
    ((suite, tasks),) = config.create_envs(2).items()
    tasks[0].close()
    assert (suite, list(tasks), config.fps) == ("envwire", [0], 12)
    assert _shapes(config) == {
        "action": ("ACTION", (2,)),
        "observation.image": ("VISUAL", (8, 10, 3)),
        "observation.state": ("STATE", (2,)),
        "observation.environment_state": ("ENV", (5,)),
        "observation.gripper": ("STATE", (1,)),
    }


def test_each_camera_is_a_feature(plugin: Any, target: str) -> None:
    config = plugin.EnvwireEnv(target=target, env_id="tests/Robot-v0", kwargs={"cameras": 2})
    config.create_envs(1)["envwire"][0].close()
    pictures = {name for name, (kind, _) in _shapes(config).items() if kind == "VISUAL"}
    assert pictures == {"observation.images.camera0", "observation.images.camera1"}


def test_it_does_what_an_evaluation_asks_for(plugin: Any, target: str) -> None:
    config = plugin.EnvwireEnv(target=target, env_id="tests/Robot-v0")
    envs = config.create_envs(3, use_async_envs=True)["envwire"][0]
    assert isinstance(envs, gymnasium.vector.VectorEnv)
    assert envs.metadata["autoreset_mode"] is gymnasium.vector.AutoresetMode.SAME_STEP
    assert envs.call("_max_episode_steps") == (5, 5, 5)
    assert envs.unwrapped.metadata["render_fps"] == 12
    with pytest.raises(AttributeError):
        envs.call("task")
    observations, _ = envs.reset(seed=[1, 2, 3])
    assert {key: value.shape for key, value in observations.items()} == {
        "pixels": (3, 8, 10, 3),
        "agent_pos": (3, 2),
        "environment_state": (3, 5),
        "gripper": (3, 1),
    }
    for number in range(5):
        result = envs.step(np.full((3, 2), 0.5, np.float32))
        assert result[1].tolist() == [1.0, 1.0, 1.0]
        assert result[3].all() == (number == 4)
    assert "final_info" in result[4]
    assert envs.call("render")[0].dtype == np.uint8
    envs.close()


@pytest.mark.parametrize(
    ("env_id", "says"), [("CartPole-v1", "one dimension"), ("Pendulum-v1", "Dict with keys")]
)
def test_spaces_that_lerobot_cannot_use_are_refused(
    plugin: Any, target: str, env_id: str, says: str
) -> None:
    with pytest.raises(ValueError, match=says):
        plugin.EnvwireEnv(target=target, env_id=env_id).create_envs(1)
