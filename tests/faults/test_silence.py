"""Servers that fall silent, or die with many sessions: what could go on elsewhere does; a long step is only long."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from envwire.client import CapacityError, RemoteEnv, RemoteVectorEnv, StepTimeoutError
from envwire.server import Server
from envwire.testing.comparing import identical
from tests.faults.scene import active, family_of
from tests.faults.test_loss import start
from tests.hosted_envs import Fault

FAULTY = "tests/Faulty-v0"
ZEROS = np.zeros(8, np.int64)


@pytest.fixture(scope="module")
def other() -> Iterator[Server]:
    with start(max_sessions=20, step_timeout=2.0) as server:
        yield server


@pytest.fixture
def doomed() -> Iterator[Server]:
    server = start(max_sessions=20).start()
    stopped = family_of(server.pid)
    yield server
    for pid in stopped | family_of(server.pid):
        with contextlib.suppress(ProcessLookupError):  # some have ended by now
            os.kill(pid, signal.SIGCONT)
    server.stop()


def stop(server: Server) -> None:
    for pid in family_of(server.pid):
        os.kill(pid, signal.SIGSTOP)


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("envwire.client._drivers.failure_detection.LATE_SECONDS", 0.2)
    monkeypatch.setattr("envwire.client._drivers.failure_detection.PROBE_SECONDS", 0.3)


def steps(env: Any, count: int) -> list[Any]:
    return [env.step(index % 2) for index in range(count)]


def test_a_stopped_server_is_left_for_another_one(doomed: Server, other: Server) -> None:
    twin = RemoteEnv(other.target, "CartPole-v1")
    targets = [doomed.target, other.target]
    envs = [
        RemoteEnv(targets, "CartPole-v1", on_lost="replay", transport=transport)
        for transport in ("direct", "direct-tcp", "stream", "unary")
    ]
    expected, *seen = ([each.reset(seed=3), *steps(each, 5)] for each in (twin, *envs))
    stop(doomed)
    expected += steps(twin, 3)
    for env, shown in zip(envs, seen, strict=True):
        assert identical([*shown, *steps(env, 3)], expected)
        assert env.connection_stats == (0, 1, 1)
        env.close()
    twin.close()


def test_a_stopped_server_ends_the_episodes_of_those_who_asked_for_that(
    doomed: Server, other: Server
) -> None:
    env = RemoteEnv([doomed.target, other.target], "CartPole-v1", on_lost="truncate")
    env.reset(seed=3)
    env.step(0)
    stop(doomed)
    assert env.step(0)[4]["lost"]
    env.reset(seed=3)
    assert active(other.target) == 1
    env.close()


def test_a_long_step_on_a_live_server_is_no_loss(doomed: Server, other: Server) -> None:
    env = RemoteEnv([doomed.target, other.target], FAULTY, on_lost="replay", anonymous=True)
    env.reset(seed=1)
    assert env.step(int(Fault.SLEEP))[4] == {"steps": 1}
    assert env.connection_stats == (0, 0, 0)
    env.close()


def test_a_step_that_a_live_server_ended_is_told(other: Server) -> None:
    env = RemoteEnv(other.target, FAULTY, on_lost="replay", anonymous=True)
    env.reset(seed=1)
    with pytest.raises(StepTimeoutError):
        env.step(int(Fault.HANG))
    assert env.connection_stats[1:] == (1, 0)
    env.reset(seed=1)
    env.close()


def test_all_sessions_of_a_dead_server_go_on_elsewhere(doomed: Server, other: Server) -> None:
    twin = RemoteVectorEnv(other.target, "FrozenLake-v1", 8, sessions=2)
    targets = [doomed.target, other.target]
    env = RemoteVectorEnv(targets, "FrozenLake-v1", 8, sessions=8, on_lost="replay")
    seen = [[each.reset(seed=3), each.step(ZEROS), each.step(ZEROS)] for each in (env, twin)]
    os.kill(doomed.pid, signal.SIGKILL)
    for _ in range(1000):  # its session processes may serve a few steps more before they are gone
        for each, shown in zip((env, twin), seen, strict=True):
            shown.append(each.step(ZEROS))
        if env.connection_stats.recovered == 4:
            break
    assert identical(*seen)
    assert env.connection_stats == (0, 4, 4)
    assert active(other.target) == 8 + 2
    env.close()
    twin.close()


def test_shards_of_a_stopped_server_go_on_elsewhere(doomed: Server, other: Server) -> None:
    targets = [doomed.target, other.target]
    env = RemoteVectorEnv(targets, "FrozenLake-v1", 8, sessions=4, on_lost="replay")
    env.reset(seed=3)
    stop(doomed)
    env.step(ZEROS)
    assert env.connection_stats == (0, 2, 2)
    env.close()


@pytest.mark.parametrize("sessions", [4, None])
def test_a_vector_whose_first_server_is_full_or_dead_is_made_on_the_others(
    other: Server, sessions: int | None
) -> None:
    with start(max_sessions=1) as small:
        targets = [small.target, "127.0.0.1:1", other.target]
        env = RemoteVectorEnv(targets, "CartPole-v1", 8, sessions=sessions)
        assert env.reset(seed=1)[0].shape == (8, 4)
        assert active(small.target) + active(other.target) >= 2
        env.close()
        with pytest.raises(CapacityError):
            RemoteVectorEnv([small.target, small.target], "CartPole-v1", 8, sessions=8)
        assert active(small.target) == 0
