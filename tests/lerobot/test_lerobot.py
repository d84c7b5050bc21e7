"""LeRobot's own evaluation, local and remote: `make test-lerobot` installs it (6 GB)."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

if importlib.util.find_spec("lerobot") is None or importlib.util.find_spec("gym_pusht") is None:
    pytest.skip("`make test-lerobot` installs LeRobot", allow_module_level=True)

from envwire.server import Server

pytestmark = pytest.mark.timeout(900)

_LOCAL = ["--env.type=pusht", "--env.obs_type=pixels_agent_pos"]
_POLICY = [
    "--policy.type=act",
    "--policy.device=cpu",
    "--policy.pretrained_backbone_weights=null",
    "--policy.push_to_hub=false",
]


def _rewards(out: Path, batch: int, environment: list[str]) -> Any:
    """Returns the sums and maxima of rewards of an untrained policy, whose weights the seed fixes."""
    evaluate = Path(sys.executable).with_name("lerobot-eval")
    sizes = [f"--eval.n_episodes={batch}", f"--eval.batch_size={batch}", f"--output_dir={out}"]
    # Its processes do not find gym_pusht, whose module it imports in its own process only.
    sizes.append("--eval.use_async_envs=false")
    subprocess.run(
        [evaluate, *environment, *_POLICY, *sizes, "--seed=1000"],
        check=True,
        timeout=800,
        env={**os.environ, "HF_HUB_OFFLINE": "1", "MUJOCO_GL": "egl"},
    )
    info = json.loads((out / "eval_info.json").read_text(encoding="utf-8"))
    (task,) = info["per_task"]
    return task["metrics"]["sum_rewards"], task["metrics"]["max_rewards"]


@pytest.mark.parametrize("batch", [1, 2])
def test_rewards_are_those_of_the_local_environment(tmp_path: Path, batch: int) -> None:
    expected = _rewards(tmp_path / "local", batch, _LOCAL)
    with Server(["gym_pusht/*"], imports=["gym_pusht"]) as server:
        remote = [
            "--env.type=envwire",
            f"--env.target={server.target}",
            "--env.env_id=gym_pusht/PushT-v0",
            '--env.kwargs={"obs_type": "pixels_agent_pos"}',
        ]
        assert _rewards(tmp_path / "remote", batch, remote) == expected
