"""Gymnasium's vector environments over proxies: in this process, and in processes of every start method."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import gymnasium
import pytest

import envwire.client.gymnasium  # noqa: F401 - registers envwire/Remote-v0
from envwire.server import Server
from envwire.testing.comparing import identical

pytestmark = pytest.mark.filterwarnings("default")

PROGRAM = Path(__file__).with_name("vector_program.py")


@pytest.mark.skipif(
    not hasattr(gymnasium.vector, "AutoresetMode"), reason="Gymnasium has modes since 1.1"
)
@pytest.mark.parametrize("mode", ["NEXT_STEP", "SAME_STEP"])
def test_make_vec_in_this_process(server: Server, mode: str) -> None:
    kwargs: Any = {
        "num_envs": 3,
        "vectorization_mode": "sync",
        "vector_kwargs": {"autoreset_mode": gymnasium.vector.AutoresetMode[mode]},
    }
    remote = gymnasium.make_vec(
        "envwire/Remote-v0", target=server.target, env_id="CartPole-v1", **kwargs
    )
    local = gymnasium.make_vec("CartPole-v1", **kwargs)
    assert remote.observation_space == local.observation_space
    assert remote.metadata["autoreset_mode"] is local.metadata["autoreset_mode"]
    for env in (remote, local):
        env.action_space.seed(3)
    assert identical(remote.reset(seed=3), local.reset(seed=3))
    for _ in range(100):
        assert identical(
            remote.step(remote.action_space.sample()), local.step(local.action_space.sample())
        )
    remote.close()
    local.close()


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_processes_of_every_start_method(server: Server, method: str) -> None:
    if sys.platform == "win32" and method != "spawn":
        pytest.skip("Windows spawns")
    done = _run(server.target, method)
    assert done is not None, "it hung"
    assert done.returncode == 0, done.stderr
    assert "episodes ended" in done.stdout


def _run(target: str, method: str) -> subprocess.CompletedProcess[str] | None:
    """Runs the program; None when it hung, and then it ends with all that it started."""
    program = subprocess.Popen(
        [sys.executable, str(PROGRAM), target, method],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        out, errors = program.communicate(timeout=50)
    except subprocess.TimeoutExpired:
        os.killpg(program.pid, signal.SIGKILL)
        program.communicate()
        return None
    return subprocess.CompletedProcess(program.args, program.returncode, out, errors)
