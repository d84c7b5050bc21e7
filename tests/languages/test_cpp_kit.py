"""Environments in C++, driven by the Python client: single, vectors, Gymnasium's checker, and the conformance suite."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import envwire.envs as gym
from envwire.client import RemoteEnv, RemoteVectorEnv
from envwire.conformance.checks import CHECKS
from envwire.conformance.raw import Access
from envwire.conformance.suite import Level, Selection
from envwire.conformance.suite.runner import Outcome, Runner
from tests.languages.cpp import running

ENV_ID = "Conformance/Counter-v0"
#: With a limit for messages that the suite is ready to go beyond.
_MAX_MESSAGE_BYTES = str(32 * 1024 * 1024)


@pytest.fixture(scope="module")
def target() -> Iterator[str]:
    with running("serve", _MAX_MESSAGE_BYTES) as process:
        assert process.stdout is not None
        yield process.stdout.readline().strip()


@pytest.mark.parametrize("transport", ["unary", "stream", "direct-unix", "direct-tcp"])
def test_an_episode(target: str, transport: str) -> None:
    with RemoteEnv(target, ENV_ID, render_mode="ansi", transport=transport) as env:
        assert env.action_space == gym.spaces.Discrete(2)
        observation, info = env.reset(seed=42)
        np.testing.assert_array_equal(observation, [0, 0])
        assert info == {"draw": np.random.default_rng(42).random()}
        observation, *rest = env.step(1)
        np.testing.assert_array_equal(observation, [1, 1])
        assert rest == [1.0, False, False, {}]
        assert env.render() == "1"
        assert env.unwrapped.add(5) == 6
        with pytest.raises(gym.error.InvalidAction):
            env.step(9)
        np.testing.assert_array_equal(env.step(np.int64(0))[0], [3, 6])


def test_the_generator_is_shared(target: str) -> None:
    with RemoteEnv(target, ENV_ID) as env:
        env.reset(seed=3)
        local = np.random.default_rng(3)
        local.random()  # the environment's own draw
        assert env.np_random.bit_generator.state == local.bit_generator.state
        assert env.np_random.integers(10) == local.integers(10)
        assert env.reset()[1]["draw"] == local.random()


def test_a_step_before_the_reset_is_refused(target: str) -> None:
    with RemoteEnv(target, ENV_ID) as env, pytest.raises(gym.error.ResetNeeded):
        env.step(1)


def test_a_vector_environment(target: str) -> None:
    with contextlib.closing(RemoteVectorEnv(target, ENV_ID, num_envs=8)) as envs:
        _, infos = envs.reset(seed=5)
        draws = [np.random.default_rng(5 + index).random() for index in range(8)]
        np.testing.assert_array_equal(infos["draw"], draws)
        for count in range(1, 11):
            observations, rewards, terminations, truncations, _ = envs.step(np.arange(8) % 2)
            np.testing.assert_array_equal(observations[:, 0], [count] * 8)
            np.testing.assert_array_equal(rewards, np.arange(8) % 2)
            assert terminations.tolist() == [count == 10] * 8
            assert not truncations.any()
        observations, *_ = envs.step(np.zeros(8, int))
        np.testing.assert_array_equal(observations, np.zeros((8, 2)))


def test_closed_sessions_leave_no_sockets_behind() -> None:
    with running("serve") as process:
        assert process.stdout is not None
        target = process.stdout.readline().strip()

        def descriptors_after(sessions: int) -> int:
            for _ in range(sessions):
                with RemoteEnv(target, ENV_ID, transport="direct-tcp") as env:
                    env.reset()
            return len(list(Path(f"/proc/{process.pid}/fd").iterdir()))

        before = descriptors_after(1)
        assert descriptors_after(20) < before + 10  # one for each, if they stayed


def test_gymnasiums_checker_accepts_it(target: str) -> None:
    pytest.importorskip("gymnasium")
    from gymnasium.utils.env_checker import check_env

    from envwire.client.gymnasium import RemoteEnv as GymnasiumEnv

    with GymnasiumEnv(target, ENV_ID, render_mode="ansi") as env:
        check_env(env.unwrapped, skip_render_check=True)


def required_failures(target: str, profile: str, run: list[str]) -> list[tuple[str, str]]:
    selection = Selection(profiles=[profile], run=run)
    return [
        (result.check.name, result.text)
        for result in Runner(Access(target), selection, seconds=20.0).results()
        if result.outcome is Outcome.FAILED and result.check.level is Level.REQUIRED
    ]


def test_it_passes_a_few_checks(target: str) -> None:
    assert required_failures(target, "core", ["sequence.*", "secrets.*"]) == []


@pytest.mark.long
@pytest.mark.timeout(300)
@pytest.mark.parametrize("profile", ["core", "stream", "direct", "direct-make", "states", "vector"])
def test_it_conforms(target: str, profile: str) -> None:
    assert any(check.profile == profile for check in CHECKS)
    assert required_failures(target, profile, []) == []
