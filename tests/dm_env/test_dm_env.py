"""dm_env's own compliance tests on remote environments, and that values are those of a RemoteEnv."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

pytest.importorskip("dm_env")

import dm_env
from absl.testing import absltest
from dm_env import specs, test_utils

from envwire.client import RemoteEnv
from envwire.client.dm_env import RemoteEnvironment, _spec_of
from envwire.envs import spaces
from envwire.server import Server
from tests.conftest import SETTINGS


@pytest.fixture(scope="module", autouse=True)
def target() -> Iterator[str]:
    settings = {"imports": ["tests.dm_env.hosted"], "sys_path": SETTINGS["sys_path"]}
    with Server(["CartPole-v1", "Pendulum-v1", "FrozenLake-v1", "tests/*"], **settings) as server:
        _Compliance.target = server.target
        yield server.target


class _Compliance(test_utils.EnvironmentTestMixin):  # type: ignore[misc]
    target: str
    env_id: str
    settings: dict[str, Any] = {}

    def make_object_under_test(self) -> RemoteEnvironment:
        return RemoteEnvironment(self.target, self.env_id, seed=1, **self.settings)

    def make_action_sequence(self) -> Any:
        yield from (self.make_action() for _ in range(30))  # long enough for an episode to end


class TestCartPole(_Compliance, absltest.TestCase):
    env_id = "CartPole-v1"


class TestPendulum(_Compliance, absltest.TestCase):
    env_id = "Pendulum-v1"
    settings = {"wrappers": [("TimeLimit", {"max_episode_steps": 9})]}


class TestFrozenLake(_Compliance, absltest.TestCase):
    env_id = "FrozenLake-v1"


class TestEveryKindOfSpec(_Compliance, absltest.TestCase):
    env_id = "tests/Kinds-v0"


def test_values_and_ends_are_those_of_a_remote_env(target: str) -> None:
    env, there = RemoteEnv(target, "CartPole-v1"), RemoteEnvironment(target, "CartPole-v1", seed=3)
    for seed in (3, None):  # the seed is for the first episode
        observation, _ = env.reset(seed=seed)
        timestep = there.reset()
        while not timestep.last():
            np.testing.assert_array_equal(timestep.observation, observation)
            observation, reward, terminated, _, info = env.step(1)
            timestep = there.step(np.array(1))
            assert (timestep.reward, there.info) == (reward, info)
        assert terminated
        assert timestep.discount == 0.0
    env.close()
    there.close()


def test_a_truncated_episode_keeps_its_discount(target: str) -> None:
    limit = [("TimeLimit", {"max_episode_steps": 2})]
    there = RemoteEnvironment(target, "Pendulum-v1", wrappers=limit)
    there.reset()
    action = there.action_spec().generate_value()
    steps = [there.step(action) for _ in range(3)]
    assert [step.step_type for step in steps] == [
        dm_env.StepType.MID,
        dm_env.StepType.LAST,
        dm_env.StepType.FIRST,
    ]
    assert steps[1].discount == 1.0
    there.close()


def test_specs_are_those_of_the_spaces(target: str) -> None:
    there = RemoteEnvironment(target, "tests/Kinds-v0")
    spec = there.action_spec()
    there.close()
    assert spec["box"] == specs.BoundedArray((2, 3), np.float32, -1, 1, "action/box")
    assert spec["discrete"] == specs.DiscreteArray(4, np.int64, "action/discrete")
    assert spec["shifted"] == specs.BoundedArray((), np.int64, -2, 1, "action/shifted")
    assert spec["pair"][0].num_values == 2


def test_a_space_without_a_spec_is_refused() -> None:
    with pytest.raises(ValueError, match="no spec for the action space Graph"):
        _spec_of(spaces.Graph(spaces.Discrete(2), None), "action")
