"""The TypeScript environment kit, driven by the Python client: single, vectors, and Gymnasium's own checker."""

from __future__ import annotations

import contextlib
import random
import subprocess
import sys
import threading
from collections.abc import Iterator

import numpy as np
import pytest

import envwire.envs as gym
from envwire.client import RemoteEnv, RemoteVectorEnv
from tests.languages.typescript import PACKAGE, running

ENV_ID = "Counting-v0"


@pytest.fixture(scope="module")
def target() -> Iterator[str]:
    with running("serve") as process:
        assert process.stdout is not None
        yield process.stdout.readline().strip()


@pytest.mark.parametrize("transport", ["unary", "stream", "direct-unix", "direct-tcp"])
def test_an_episode(target: str, transport: str) -> None:
    with RemoteEnv(target, ENV_ID, render_mode="ansi", transport=transport) as env:
        assert env.action_space == gym.spaces.Discrete(4)
        observation, info = env.reset(seed=42, options={"a": (1, 2.5)})
        assert observation == 0
        assert info == {"draw": np.random.default_rng(42).random(), "options": {"a": (1, 2.5)}}
        assert env.step(1) == (1, 1, False, False, {"half": 0.5})
        assert env.step(np.int64(3)) == (2, 3, False, False, {"half": 1.0})
        assert env.render() == "2"
        assert env.unwrapped.steps == 2
        with pytest.raises(gym.error.InvalidAction):
            env.step(9)
        with pytest.raises(Exception, match="two is too many"):
            env.step(2)
        assert env.step(0)[0] == 3


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
        for count in range(1, 21):
            observations, rewards, terminations, truncations, _ = envs.step(np.arange(8) % 2)
            np.testing.assert_array_equal(observations, [count] * 8)
            np.testing.assert_array_equal(rewards, np.arange(8) % 2)
            assert terminations.tolist() == [count == 20] * 8
            assert not truncations.any()
        observations, *_ = envs.step(np.zeros(8, int))
        np.testing.assert_array_equal(observations, [0] * 8)


def test_gymnasiums_checker_accepts_it(target: str) -> None:
    pytest.importorskip("gymnasium")
    from gymnasium.utils.env_checker import check_env

    from envwire.client.gymnasium import RemoteEnv as GymnasiumEnv

    with GymnasiumEnv(target, "Walking-v0", render_mode="ansi") as env:
        check_env(env.unwrapped, skip_render_check=True)


def test_many_clients_at_the_same_time(target: str) -> None:
    failures: list[object] = []

    def drive(seed: int) -> None:
        actions = random.Random(seed)
        try:
            with RemoteEnv(target, ENV_ID) as env:
                env.reset()
                for count in range(1, 20):
                    if env.step(actions.choice((0, 1)))[0] != count:
                        failures.append((seed, count))
        except BaseException as failure:
            failures.append(failure)

    threads = [threading.Thread(target=drive, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60.0)
    assert failures == []


def test_the_golden_numbers_are_numpys() -> None:
    data = PACKAGE / "tests" / "data"
    script = "from write_numpy_random import document; print(document(), end='')"
    written = subprocess.run(
        [sys.executable, "-c", script], cwd=data, capture_output=True, text=True, check=True
    )
    assert (data / "numpy_random.json").read_text() == written.stdout
