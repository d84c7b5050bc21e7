"""The duration of a step, as a server reports it to clients."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from google.protobuf.duration_pb2 import Duration

from envwire.codec import encode_mapping
from envwire.server._front.sessions.recipe import recipe_of
from envwire.server._front.sessions.step_times import StepTimes
from envwire.v1 import environment_pb2 as pb
from envwire.v1 import specs_pb2, values_pb2


def listing(env_id: str, entry_point: str) -> pb.EnvironmentListing:
    return pb.EnvironmentListing(spec=specs_pb2.EnvSpec(id=env_id, entry_point=entry_point))


def make(**fields: Any) -> pb.MakeRequest:
    return pb.MakeRequest(env_id="lab/Maze-v0", **fields)


def sized(size: int) -> values_pb2.ValueMap:
    kwargs = values_pb2.ValueMap()
    encode_mapping({"size": size}, kwargs, "kwargs")
    return kwargs


MAZE = make()
HARD = make(kwargs=sized(100))


def session(
    steps: int,
    stepping: float,
    as_arrays: bool = False,
    made: pb.MakeRequest = MAZE,
    name: str = "s",
) -> Any:
    return SimpleNamespace(
        id=name + str(made),
        recipe=recipe_of(made),
        as_arrays=as_arrays,
        steps=steps,
        counters=SimpleNamespace(stepping=int(1e9 * stepping)),
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
    assert (times.of(MAZE) is not None) is known


def test_what_was_measured_replaces_what_was_known() -> None:
    times = StepTimes([listing("lab/Maze-v0", "gymnasium.envs.toy_text.maze:Maze")])
    times.update([session(1000, 2.0)])
    assert times.of(MAZE) == pytest.approx(0.002)


def test_a_busy_machine_makes_no_environment_dear() -> None:
    times = StepTimes([])
    times.update([session(1000, 0.01), session(1000, 2.0, name="t")])
    assert times.of(MAZE) == pytest.approx(1e-5)


@pytest.mark.parametrize("other", [session(199, 2.0), session(1000, 2.0, as_arrays=True)])
def test_sessions_that_say_little_do_not_count(other: Any) -> None:
    times = StepTimes([])
    times.update([other])
    assert times.of(MAZE) is None


def test_keyword_arguments_and_wrappers_have_a_time_of_their_own() -> None:
    times = StepTimes([listing("lab/Maze-v0", "gymnasium.envs.toy_text.maze:Maze")])
    times.update([session(5000, 0.05)])
    times.update([session(400, 0.4, made=HARD)])
    assert times.of(MAZE) == pytest.approx(1e-5)
    assert times.of(HARD) == pytest.approx(1e-3)
    assert times.of(make(wrappers=[pb.WrapperRequest(name="lab:Slow")])) is None


@pytest.mark.parametrize(
    "same",
    [
        make(request_id=b"1" * 16),
        make(vector=pb.VectorRequest(num_envs=8)),
        make(lease=Duration(seconds=9)),
    ],
)
def test_members_of_a_vector_have_the_time_of_one_environment(same: pb.MakeRequest) -> None:
    assert recipe_of(same) == recipe_of(MAZE)


def test_an_environment_that_has_become_dear_is_measured_anew() -> None:
    times = StepTimes([])
    steps, stepping = 5000, 0.05
    times.update([session(steps, stepping)])
    for _ in range(32):
        steps, stepping = steps + 200, stepping + 0.2
        times.update([session(steps, stepping)])
    assert times.of(MAZE) == pytest.approx(1e-3)


def test_few_steps_wait_for_more() -> None:
    times = StepTimes([])
    times.update([session(150, 0.15)])
    times.update([session(300, 0.3)])
    assert times.of(MAZE) == pytest.approx(1e-3)


def test_the_recipes_are_bounded() -> None:
    times = StepTimes([])
    for size in range(1100):
        times.update([session(200, 1.0, made=make(kwargs=sized(size)))])
    assert times.of(make(kwargs=sized(0))) is None
    assert times.of(make(kwargs=sized(1099))) is not None
