"""Many sessions in one process: the end of one session ends no other, unless the process dies."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from typing import Any

import pytest

from envwire.client import (
    RemoteEnv,
    SessionClosedError,
    SessionLostError,
    StepTimeoutError,
)
from envwire.server import Server
from envwire.testing.comparing import identical
from tests.direct.conftest import SETTINGS
from tests.direct.detour import through
from tests.direct.hosted_frames import FRAMES
from tests.direct.relay import Relay
from tests.direct.test_resuming import expected, play
from tests.faults.scene import active, eventually
from tests.hosted_envs import Fault

FAULTY = "tests/Faulty-v0"
PLACES = 6
KINDS = ("direct-tcp", "direct-unix", "unary", "stream")


@pytest.fixture(scope="module")
def packed() -> Iterator[Server]:
    """A server that puts several sessions into a process."""
    with Server(
        ["direct/*", FAULTY],
        sessions_per_process=PLACES,
        step_timeout=1.0,
        shared_memory=2**22,
        **SETTINGS,
    ) as server:
        yield server


@pytest.fixture
def make(packed: Server) -> Iterator[Any]:
    """Makes environments that share a process, and closes the remaining ones at the end."""
    assert eventually(lambda: active(packed.target) == 0)
    made: list[RemoteEnv] = []

    def start(kind: str = "direct", env_id: str = FAULTY, **kwargs: Any) -> RemoteEnv:
        made.append(RemoteEnv(packed.target, env_id, transport=kind, **kwargs))
        return made[-1]

    yield start
    for env in made:
        env.close()


def pid_of(env: RemoteEnv) -> int:
    return int(env.reset()[1]["pid"])


def test_a_process_holds_as_many_as_it_may_and_the_next_one_the_rest(make: Any) -> None:
    pids = [pid_of(make(KINDS[number % 4])) for number in range(2 * PLACES)]
    assert [len(set(pids[:PLACES])), len(set(pids[PLACES:])), len(set(pids))] == [1, 1, 2]


def test_episodes_side_by_side_are_those_of_environments_alone(make: Any) -> None:
    shapes = [(4,), (5000,), (300, 300)]
    envs = [make(kind, FRAMES, shape=shape) for kind in KINDS[:2] for shape in shapes]
    seen = [[env.reset(seed=5)[0]] for env in envs]
    for step in range(10):
        for env, results in zip(envs, seen, strict=True):
            results.append(env.step(step % 4))
    for results, shape in zip(seen, shapes * 2, strict=True):
        assert identical(results, expected(10, shape=shape))


@pytest.mark.parametrize("kind", KINDS)
def test_a_close_leaves_the_others_and_its_slot_is_used_again(make: Any, kind: str) -> None:
    first, other = make(), make()
    pid = pid_of(other)
    assert pid_of(first) == pid
    for _ in range(10):
        env = make(kind)
        assert pid_of(env) == pid
        other.step(0)
        env.close()
        with pytest.raises(SessionClosedError):
            env.step(0)
    assert other.step(0)[4] == {"steps": 11}


def test_a_client_that_vanishes_leaves_the_others(make: Any, packed: Server) -> None:
    relay, other = Relay(), make()
    env = RemoteEnv(None, FAULTY, transport=through(relay, packed.target), lease=0.3)
    assert pid_of(env) == pid_of(other)
    relay.close()
    assert eventually(lambda: active(packed.target) == 1)
    assert [other.step(0)[4]["steps"] for _ in range(3)] == [1, 2, 3]
    env.close()


@pytest.mark.parametrize("kind", KINDS)
def test_a_crash_takes_the_neighbours_with_an_error_that_says_so(make: Any, kind: str) -> None:
    envs = [make(kind), make("direct-tcp"), make("stream")]
    assert len({pid_of(env) for env in envs}) == 1
    for env, fault in zip(envs, (Fault.PRINT_AND_ABORT, Fault.NONE, Fault.NONE), strict=True):
        with pytest.raises(SessionLostError, match=r"(?s)SIGABRT.*last words"):
            env.step(int(fault))
    assert len({pid_of(env) for env in envs}) == 1, "reset makes them again, together"


def test_a_hung_one_is_killed_in_time_and_its_neighbours_are_told(make: Any) -> None:
    hung, other = make(), make()
    pid = pid_of(hung)
    assert pid_of(other) == pid
    with pytest.raises(StepTimeoutError, match="within 1 s"):
        hung.step(int(Fault.HANG))
    with pytest.raises(SessionLostError, match="SIGKILL"):
        other.step(0)
    assert pid_of(make()) != pid, "nobody is put into a process that was killed"


def test_an_environment_that_cannot_be_made_takes_no_slot(make: Any, packed: Server) -> None:
    other = make()
    pid = pid_of(other)
    for _ in range(PLACES):
        with pytest.raises(RuntimeError, match="no simulator here"):
            make(raise_on_make=True)
    assert active(packed.target) == 1
    assert pid_of(make()) == pid


def test_an_exception_stays_with_its_session(make: Any) -> None:
    env, other = make(), make()
    assert pid_of(env) == pid_of(other)
    with pytest.raises(ValueError, match="the wheel fell off"):
        env.step(int(Fault.RAISE))
    assert env.step(0)[4] == other.step(0)[4] == {"steps": 1}


def test_many_clients_play_at_the_same_time_over_every_carrier(make: Any) -> None:
    envs = [make(KINDS[number % 4], FRAMES, shape=(5000,)) for number in range(4)]
    assert all(identical(play(env, 5), expected(5, shape=(5000,))) for env in envs)


def test_a_killed_process_is_replaced(make: Any) -> None:
    env = make()
    pid = pid_of(env)
    os.kill(pid, signal.SIGKILL)
    with pytest.raises(SessionLostError, match="SIGKILL"):
        env.step(0)
    assert pid_of(env) != pid
