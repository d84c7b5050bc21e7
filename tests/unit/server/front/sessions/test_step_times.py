"""The duration of a step, as a server reports it to clients."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from envwire.server._front.sessions.step_times import StepTimes
from envwire.v1 import environment_pb2 as pb
from envwire.v1 import specs_pb2


def listing(env_id: str, entry_point: str) -> pb.EnvironmentListing:
    return pb.EnvironmentListing(spec=specs_pb2.EnvSpec(id=env_id, entry_point=entry_point))


def session(steps: int, stepping: float, as_arrays: bool = False) -> Any:
    return SimpleNamespace(
        env_id="lab/Maze-v0",
        as_arrays=as_arrays,
        steps=steps,
        counters=SimpleNamespace(stepping=1e9 * stepping),
    )


@pytest.mark.parametrize(
    ("entry_point", "known"),
    [
        ("gymnasium.envs.classic_control.cartpole:CartPoleEnv", True),
        ("envwire.envs.envs.toy_text.frozen_lake:FrozenLakeEnv", True),
        ("gymnasium.envs.mujoco.ant_v5:AntEnv", False),
        ("lab:Maze", False),
    ],
)
def test_cheap_environments_of_the_libraries_are_known(entry_point: str, known: bool) -> None:
    times = StepTimes([listing("lab/Maze-v0", entry_point)])
    assert (times.of("lab/Maze-v0") is not None) is known


def test_what_was_measured_replaces_what_was_known() -> None:
    times = StepTimes([listing("lab/Maze-v0", "gymnasium.envs.toy_text.maze:Maze")])
    times.update([session(1000, 2.0)])
    assert times.of("lab/Maze-v0") == pytest.approx(0.002)


def test_a_busy_machine_makes_no_environment_dear() -> None:
    times = StepTimes([])
    times.update([session(1000, 0.01), session(1000, 2.0)])
    assert times.of("lab/Maze-v0") == pytest.approx(1e-5)


@pytest.mark.parametrize("other", [session(199, 2.0), session(1000, 2.0, as_arrays=True)])
def test_sessions_that_say_little_do_not_count(other: Any) -> None:
    times = StepTimes([])
    times.update([other])
    assert times.of("lab/Maze-v0") is None
