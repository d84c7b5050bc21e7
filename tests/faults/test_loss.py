"""Sessions and servers that are killed in the middle of an episode: what each policy makes of it."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest

from envwire.client import (
    CapacityError,
    RemoteEnv,
    RequestTimeoutError,
    ServerUnavailableError,
    SessionLostError,
)
from envwire.client._transports.direct.dialing import Dialer
from envwire.server import Server
from envwire.testing.comparing import identical
from tests.conftest import ROOT
from tests.faults.scene import alive, eventually, files_of, kill_sessions, sessions_of
from tests.faults.test_processes import active
from tests.hosted_envs import Fault
from tests.tiers import cross, first

FAULTY = "tests/Faulty-v0"
HOSTED = ["CartPole-v1", "FrozenLake-v1", "Pendulum-v1", "tests/*"]


def start(**settings: Any) -> Server:
    return Server(HOSTED, imports=["tests.hosted_envs"], sys_path=(ROOT,), **settings)


@pytest.fixture(scope="module")
def fragile() -> Iterator[Server]:
    with start(lease=2.0) as server:
        yield server


def run(env: Any, disturb: dict[int, Callable[[], None]], steps: int = 150) -> list[Any]:
    """Returns the answers of an environment that is disturbed before some of its steps."""
    env.action_space.seed(5)
    seen: list[Any] = [env.reset(seed=5)]
    for step in range(steps):
        disturb.get(step, bool)()
        seen.append(env.step(env.action_space.sample()))
        if seen[-1][2] or seen[-1][3]:
            seen.append(env.reset())
    env.close()
    return seen


@pytest.mark.parametrize(
    ("env_id", "transport"),
    cross(
        ["CartPole-v1", "FrozenLake-v1", "Pendulum-v1"],
        ["direct-unix", "direct-tcp", "stream", "unary"],
    ),
)
def test_killed_sessions_are_not_noticed_when_they_are_replayed(
    fragile: Server, env_id: str, transport: str
) -> None:
    expected = run(RemoteEnv(fragile.target, env_id), {})
    env = RemoteEnv(fragile.target, env_id, transport=transport, on_lost="replay")
    kill = {step: lambda: kill_sessions(fragile) for step in (0, 41, 42, 149)}
    assert identical(run(env, kill), expected)
    assert env.connection_stats[1:] == (4, 4)
    assert active(fragile) == 0


def test_a_killed_server_is_not_noticed_when_there_is_another_one(fragile: Server) -> None:
    expected = run(RemoteEnv(fragile.target, "FrozenLake-v1"), {})
    doomed = start(lease=2.0).start()
    targets = [doomed.target, fragile.target]
    env = RemoteEnv(targets, "FrozenLake-v1", on_lost="replay")
    assert active(fragile) == 0

    def kill() -> None:
        os.kill(doomed.pid, signal.SIGKILL)

    assert identical(run(env, {75: kill}), expected)
    doomed.stop()


def test_the_first_server_with_room_is_used(fragile: Server) -> None:
    with start(max_sessions=1) as small:
        first = RemoteEnv([small.target, fragile.target], FAULTY)
        second = RemoteEnv([small.target, fragile.target], FAULTY)
        assert (active(small), active(fragile)) == (1, 1)
        with pytest.raises(CapacityError):
            RemoteEnv([small.target, small.target], FAULTY, connect_timeout=1.0)
        for env in (first, second):
            env.close()
    with pytest.raises(ServerUnavailableError):
        RemoteEnv(["127.0.0.1:2", "127.0.0.1:1"], FAULTY, connect_timeout=0.5)
    with pytest.raises(ValueError, match="empty list"):
        RemoteEnv([], FAULTY)


def test_a_request_that_kills_its_session_again_and_again_is_told(fragile: Server) -> None:
    env = RemoteEnv(fragile.target, FAULTY, on_lost="replay", anonymous=True)
    env.reset(seed=1)
    env.step(0)
    with pytest.raises(SessionLostError, match="SIGABRT"):
        env.step(int(Fault.ABORT))
    assert env.connection_stats[1:] == (3, 2)
    assert env.reset(seed=1)[0] == [0.0]
    env.close()


def test_a_step_that_was_served_after_its_client_gave_up_is_replayed_as_well(
    fragile: Server,
) -> None:
    env = RemoteEnv(fragile.target, FAULTY, on_lost="replay", anonymous=True, timeout=0.4)
    env.reset(seed=1)
    with pytest.raises(RequestTimeoutError):
        env.step(int(Fault.SLEEP))
    assert env.step(0)[4] == {"steps": 2}
    kill_sessions(fragile)
    servers = env._handle._maker._servers
    servers.options = replace(servers.options, timeout=None)
    assert env.step(0)[4] == {"steps": 3}
    env.close()


def test_truncation_by_a_killed_session(fragile: Server) -> None:
    env = RemoteEnv(fragile.target, FAULTY, on_lost="truncate")
    pid = env.reset(seed=1)[1]["pid"]
    env.step(0)
    os.kill(pid, signal.SIGKILL)
    observation, reward, terminated, truncated, info = env.step(0)
    assert (observation, reward, terminated, truncated) == ([1.0], 0.0, False, True)
    assert info["lost"]
    assert "SIGKILL" in info["lost_reason"]
    assert env.reset(seed=1)[1]["pid"] != pid
    env.close()


@pytest.mark.parametrize("transport", first(["direct", "direct-unix", "direct-tcp"]))
def test_a_process_that_dies_before_its_channel_is_opened_is_a_lost_session(
    fragile: Server, transport: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    dial = Dialer.dial

    def dial_the_dead(dialer: Dialer) -> Any:
        kill_sessions(fragile)
        return dial(dialer)

    monkeypatch.setattr(Dialer, "dial", dial_the_dead)
    env = RemoteEnv(fragile.target, "CartPole-v1", transport=transport)
    with pytest.raises(SessionLostError, match="SIGKILL"):
        env.reset(seed=1)


def test_a_fork_goes_its_own_way_and_outlives_the_first(fragile: Server) -> None:
    env = RemoteEnv(fragile.target, "FrozenLake-v1")
    env.reset(seed=3)
    env.step(1)
    twin = env.fork()
    before = sessions_of(fragile)
    actions = [1, 2, 1, 2, 0, 3]
    assert identical([twin.step(each) for each in actions], [env.step(each) for each in actions])
    env.close()
    grand = twin.fork()
    assert identical(grand.reset(), twin.reset())
    for each in (grand, twin):
        each.close()
    assert active(fragile) == 0
    assert eventually(lambda: not sessions_of(fragile))
    assert not any(map(alive, before))


def test_forks_of_forks_stand_on_nothing_of_each_other(fragile: Server) -> None:
    env = RemoteEnv(fragile.target, "FrozenLake-v1")
    env.reset(seed=3)
    opened: list[int] = []
    for _ in range(30):
        env, former = env.fork(), env
        former.close()
        assert eventually(lambda: len(sessions_of(fragile)) == 1)
        (pid,) = sessions_of(fragile)
        env.reset(seed=3)  # answered once the process has closed the descriptor that it handed over
        opened.append(len(files_of(pid)))
    assert env.step(1)[0] is not None
    assert max(opened[2:]) == min(opened[2:])
    env.close()


def test_the_death_of_a_fork_is_told_as_any(fragile: Server) -> None:
    env = RemoteEnv(fragile.target, FAULTY)
    first = env.reset(seed=3)[1]["pid"]
    twin = env.fork()
    (pid,) = set(sessions_of(fragile)) - {first}
    assert os.getpgid(pid) == pid
    with pytest.raises(SessionLostError, match="SIGABRT"):
        twin.step(int(Fault.PRINT_AND_ABORT))
    assert env.step(0)[4] == {"steps": 1}
    orphan = env.fork()
    os.kill(first, signal.SIGKILL)
    assert orphan.step(0)[4] == {"steps": 2}
    orphan.close()
    env.close()
    assert eventually(lambda: not sessions_of(fragile))


def test_a_process_that_cannot_be_forked_says_why(fragile: Server) -> None:
    env = RemoteEnv(fragile.target, FAULTY)
    env.reset(seed=3)
    env.get_wrapper_attr("start_child")()
    with pytest.raises(ValueError, match="processes of its own"):
        env.fork()
    assert env.step(0)[4] == {"steps": 1}
    env.close()


def test_a_killed_front_takes_its_forks_with_it() -> None:
    server = start().start()
    env = RemoteEnv(server.target, FAULTY)
    env.reset()
    twin = env.fork()
    pids = sessions_of(server)
    assert len(pids) == 2
    os.kill(server.pid, signal.SIGKILL)
    assert eventually(lambda: not any(map(alive, pids)))
    server.stop()
    for each in (env, twin):
        each._handle.kill()


def test_a_fork_takes_a_slot_and_a_stranger_cannot_ask_for_one(fragile: Server) -> None:
    with start(max_sessions=1) as small:
        env = RemoteEnv(small.target, FAULTY)
        env.reset()
        with pytest.raises(CapacityError):
            env.fork()
        session = env._handle.live().session
        session.identity.secret = bytes(16)
        with pytest.raises(PermissionError, match="secret"):
            env.fork()
        env._handle.kill()
    assert active(fragile) == 0
