"""Environments in other languages, driven by the Python client: single, vectors, and Gymnasium's own checker."""

from __future__ import annotations

import contextlib
import random
import re
import threading
from collections.abc import Iterator
from pathlib import Path

import grpc
import numpy as np
import pytest

import envwire.envs as gym
from envwire.client import RemoteEnv, RemoteEnvError, RemoteVectorEnv
from envwire.v1 import environment_pb2 as pb
from envwire.v1 import environment_pb2_grpc
from tests.commands import envwire as envwire_command
from tests.languages.programs import LANGUAGES, kit

ENV_ID = "Conformance/Counter-v0"


@pytest.fixture(scope="module", params=LANGUAGES)
def target(request: pytest.FixtureRequest) -> Iterator[str]:
    with kit(request.param) as served:
        yield served.target


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
        assert env.unwrapped.steps == 1
        assert env.unwrapped.add(5) == 6
        with pytest.raises(gym.error.InvalidAction, match=r"action 9 .*Discrete\(2\)"):
            env.step(9)
        np.testing.assert_array_equal(env.step(np.int64(0))[0], [3, 6])


def test_large_spaces_are_told_in_a_few_bytes(target: str) -> None:
    """gRPC takes 4 MiB of an answer where nothing else is said; the bounds alone would have that here."""
    with grpc.insecure_channel(target) as channel:
        stub = environment_pb2_grpc.EnvironmentServiceStub(channel)
        made = stub.Make(pb.MakeRequest(env_id="Conformance/Big-v0"))
    assert made.observation_space.ByteSize() < 200


def test_authors_can_check_their_environment(target: str) -> None:
    done = envwire_command("check", ENV_ID, "--target", target)
    assert done.returncode == 0, done.stdout
    assert len([line for line in done.stdout.splitlines() if " ok " in line]) == 7


@pytest.mark.parametrize("transport", ["unary", "stream", "direct-unix", "direct-tcp"])
def test_values_travel_both_ways(target: str, transport: str) -> None:
    with RemoteEnv(target, "Conformance/Echo-v0", transport=transport) as env:
        assert env.reset(options={"a": (1, 2.5)}) == (0, {"a": (1, 2.5)})
        assert env.step({"echo": "it", "info": {"half": 0.5}})[0::4] == ("it", {"half": 0.5})


@pytest.mark.parametrize("transport", ["unary", "stream", "direct-unix", "direct-tcp"])
def test_a_step_that_fails_leaves_the_session_as_it_was(target: str, transport: str) -> None:
    with RemoteEnv(target, "Conformance/Raise-v0", transport=transport) as env:
        env.reset()
        with pytest.raises(RemoteEnvError, match=r"ValueError: .*asked for it"):
            env.step("ValueError")
        assert env.step("nothing")[0] == 0


def test_a_step_may_take_a_while(target: str) -> None:
    with RemoteEnv(target, "Conformance/Slow-v0") as env:
        env.reset()
        assert [env.step(0.15)[0], env.step(0)[0]] == [1, 2]


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


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_lost_session_goes_on_at_another_kit(language: str) -> None:
    with (
        kit(language) as first,
        kit(language) as second,
        RemoteEnv([first.target, second.target], ENV_ID, on_lost="replay") as env,
    ):
        env.reset(seed=3)
        env.step(1)
        env.reset()
        env.step(1)
        with contextlib.closing(env.fork()) as copy:
            assert copy.step(0)[0].tolist() == [2, 1]
        first.process.kill()
        assert env.step(1)[0].tolist() == [2, 2]
        assert env.reset()[1]["draw"] == np.random.default_rng(3).random(3)[2]
        assert env.connection_stats.recovered == 1


@pytest.mark.parametrize("language", LANGUAGES)
def test_lost_members_go_on_at_another_kit(language: str, caplog: pytest.LogCaptureFixture) -> None:
    """Their episodes do not fall together: a recording begins with the earliest of the present ones."""
    caplog.set_level("INFO")
    with kit(language) as first, kit(language) as second, contextlib.ExitStack() as stack:
        vectors = [
            stack.enter_context(
                contextlib.closing(RemoteVectorEnv(targets, ENV_ID, num_envs=6, on_lost="replay"))
            )
            for targets in ([first.target, second.target], second.target)
        ]
        for envs in vectors:
            envs.reset(seed=7)
            envs.set_attr("length", [3, 4, 5, 6, 7, 8])
        for count in range(200):
            if count == 190:
                first.process.kill()
            lossy, spared = (envs.step(np.arange(6) % 2) for envs in vectors)
            np.testing.assert_equal(lossy, spared)
        assert [envs.connection_stats.recovered > 0 for envs in vectors] == [True, False]
    replayed = re.findall(r"replaying (\d+) requests", caplog.text)
    assert replayed
    assert max(map(int, replayed)) < 150  # of 190
    assert "an episode alone does not bring it back" not in caplog.text
    assert "cannot be replayed from their last episode" not in caplog.text


@pytest.mark.parametrize("language", LANGUAGES)
def test_closed_sessions_leave_no_sockets_behind(language: str) -> None:
    with kit(language) as served:

        def descriptors_after(sessions: int) -> int:
            for _ in range(sessions):
                with RemoteEnv(served.target, ENV_ID, transport="direct-tcp") as env:
                    env.reset()
            return len(list(Path(f"/proc/{served.process.pid}/fd").iterdir()))

        before = descriptors_after(1)
        assert descriptors_after(20) < before + 10  # one for each, if they stayed


@pytest.mark.parametrize(
    ("target", "env_id"),
    [*((language, ENV_ID) for language in LANGUAGES), ("typescript", "Walking-v0")],
    indirect=["target"],
)
def test_gymnasiums_checker_accepts_it(target: str, env_id: str) -> None:
    pytest.importorskip("gymnasium")
    from gymnasium.utils.env_checker import check_env

    from envwire.client.gymnasium import RemoteEnv as GymnasiumEnv

    with GymnasiumEnv(target, env_id, render_mode="ansi") as env:
        check_env(env.unwrapped, skip_render_check=True)


def test_many_clients_at_the_same_time(target: str) -> None:
    failures: list[object] = []

    def drive(seed: int) -> None:
        actions = random.Random(seed)
        try:
            with RemoteEnv(target, ENV_ID, length=20) as env:
                env.reset()
                for count in range(1, 20):
                    if env.step(actions.choice((0, 1)))[0][0] != count:
                        failures.append((seed, count))
        except BaseException as failure:
            failures.append(failure)

    threads = [threading.Thread(target=drive, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60.0)
    assert failures == []
