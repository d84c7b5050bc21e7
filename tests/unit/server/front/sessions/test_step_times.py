"""The duration of a step, as a server reports it to clients."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from envwire.codec import encode_value
from envwire.server._front.sessions.session_totals import StepTimes, kind_of
from envwire.v1 import environment_pb2 as pb
from envwire.v1 import specs_pb2

MAZE = "lab/Maze-v0"


def make(**kwargs: int) -> pb.MakeRequest:
    """Returns a Make with some keyword arguments."""
    request = pb.MakeRequest(env_id=MAZE)
    for name, value in kwargs.items():
        entry = request.kwargs.entries.add()
        entry.name = name
        encode_value(value, entry.value)
    return request


def listing(env_id: str, entry_point: str) -> pb.EnvironmentListing:
    return pb.EnvironmentListing(spec=specs_pb2.EnvSpec(id=env_id, entry_point=entry_point))


def session(
    steps: int, stepping: float, as_arrays: bool = False, made: pb.MakeRequest | None = None
) -> Any:
    return SimpleNamespace(
        kind=kind_of(made or make()),
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
    times = StepTimes([listing(MAZE, entry_point)])
    assert (times.of(make()) is not None) is known


def test_what_was_measured_replaces_what_was_known() -> None:
    times = StepTimes([listing(MAZE, "gymnasium.envs.toy_text.maze:Maze")])
    times.update([session(1000, 2.0)])
    assert times.of(make()) == pytest.approx(0.002)


def test_a_busy_machine_makes_no_environment_dear() -> None:
    times = StepTimes([])
    times.update([session(1000, 0.01), session(1000, 2.0)])
    assert times.of(make()) == pytest.approx(1e-5)


@pytest.mark.parametrize("other", [session(199, 2.0), session(1000, 2.0, as_arrays=True)])
def test_sessions_that_say_little_do_not_count(other: Any) -> None:
    times = StepTimes([])
    times.update([other])
    assert times.of(make()) is None


def test_keyword_arguments_wrappers_and_render_mode_have_times_of_their_own() -> None:
    times = StepTimes([listing(MAZE, "gymnasium.envs.toy_text.maze:Maze")])
    times.update([session(1000, 0.01, made=make(size=4)), session(1000, 2.0, made=make(size=400))])
    assert times.of(make(size=4)) == pytest.approx(1e-5)
    assert times.of(make(size=400)) == pytest.approx(0.002)
    assert times.of(make(size=40)) is None
    wrapped, rendered = make(), make()
    wrapped.wrappers.add().name = "TimeLimit"
    rendered.render_mode = "rgb_array_list"
    times.update([session(1000, 1.0, made=wrapped), session(1000, 3.0, made=rendered)])
    assert times.of(make()) == pytest.approx(8e-6)
    assert times.of(wrapped) == pytest.approx(0.001)
    assert times.of(rendered) == pytest.approx(0.003)


def test_what_does_not_change_a_step_does_not_matter() -> None:
    times = StepTimes([])
    times.update([session(1000, 0.01)])
    asked = make()
    asked.request_id, asked.vector.num_envs = bytes(16), 8
    asked.vector.vectorization_mode = "sync"
    assert times.of(asked) == pytest.approx(1e-5)


def test_times_are_kept_of_so_many_kinds_only() -> None:
    times = StepTimes([])
    for number in range(5000):
        times.update([session(1000, 0.01, made=make(size=number))])
    assert times.of(make(size=0)) is None
    assert times.of(make(size=4999)) is not None
