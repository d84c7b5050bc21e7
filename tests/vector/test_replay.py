"""Killed and replayed sessions of a vector environment are not visible to its user, with any way of driving it."""

from __future__ import annotations

import os
import signal
from typing import Any

import numpy as np
import pytest

from envwire.client import ReplayError, SessionLostError
from envwire.server import Server
from envwire.testing.comparing import identical
from tests.faults.scene import kill, sessions_of
from tests.hosted_envs import Fault
from tests.tiers import cross, first
from tests.vector.conftest import HOSTED, SETTINGS
from tests.vector.faces import FAMILIES, Family, rollout

TRANSPORT = pytest.mark.parametrize(
    "transport", first(["direct", "stream", "direct-tcp", "unary"], 2)
)
MODES = ("NEXT_STEP", "SAME_STEP", "DISABLED")
GO = np.zeros(4, np.int64)


class Disturbed:
    """A vector environment, sessions of which are killed before some of its steps.

    Args:
        env: The environment.
        server: Its server, which has no other sessions.
        steps: Before which steps, counted from 0.
    """

    def __init__(self, env: Any, server: Server, steps: range) -> None:
        self.env = env
        self._server = server
        self._steps = steps
        self._random = np.random.default_rng(1)
        self._taken = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self.env, name)

    def step(self, actions: Any) -> Any:
        if self._taken in self._steps:
            kill_some(self._server, self._random)
        self._taken += 1
        return self.env.step(actions)


def kill_some(server: Server, random: np.random.Generator | None = None) -> int:
    """Kills one session, or some that are drawn; returns how many."""
    pids = sessions_of(server)
    doomed = pids[:1] if random is None else random.permutation(pids)[: random.integers(1, 3)]
    for pid in doomed:
        kill(pid)
    return len(doomed)


@pytest.fixture(scope="module")
def fragile() -> Any:
    """A server that no other test uses."""
    with Server(HOSTED, **SETTINGS) as running:
        yield running


@pytest.mark.parametrize(
    ("family", "mode", "env_id"),
    cross(FAMILIES, MODES, ["vectors/Moody-v0", "CartPole-v1", "vectors/Large-v0"]),
)
def test_killed_sessions_are_not_noticed(
    fragile: Server, family: Family, mode: str, env_id: str
) -> None:
    masked = mode == "DISABLED"
    expected = rollout(family.local(env_id, 5, mode), 45, 3, masked)
    env = family.remote(
        fragile.target, env_id, 5, sessions=3, autoreset_mode=mode, on_lost="replay"
    )
    disturbed = Disturbed(env, fragile, range(0, 45, 17))
    assert identical(rollout(disturbed, 45, 3, masked), expected)
    stats = env.connection_stats
    assert stats.lost == stats.recovered >= 3
    env.close()


@TRANSPORT
def test_on_every_way_to_them(fragile: Server, transport: str) -> None:
    family = FAMILIES["gymnasium"]
    expected = rollout(family.local("Pendulum-v1", 4), 60, 5)
    env = family.remote(
        fragile.target, "Pendulum-v1", 4, sessions=2, transport=transport, on_lost="replay"
    )
    assert identical(rollout(Disturbed(env, fragile, range(0, 60, 20)), 60, 5), expected)
    env.close()


def test_an_environment_that_steps_as_arrays(fragile: Server) -> None:
    settings: dict[str, Any] = {"vectorization_mode": "vector_entry_point", "library": "gymnasium"}
    family = FAMILIES["gymnasium"]
    undisturbed = family.remote(fragile.target, "CartPole-v1", 6, sessions=1, **settings)
    expected = rollout(undisturbed, 60, 5)
    undisturbed.close()
    env = family.remote(fragile.target, "CartPole-v1", 6, sessions=1, on_lost="replay", **settings)
    assert identical(rollout(Disturbed(env, fragile, range(0, 60, 25)), 60, 5), expected)
    env.close()


@pytest.mark.parametrize("seed", [None, [None, 4, None, 6]])
def test_seeds_that_nobody_gave_are_drawn_once(fragile: Server, seed: Any) -> None:
    env = FAMILIES["envwire"].remote(fragile.target, "CartPole-v1", 4, sessions=2, on_lost="replay")
    first = env.reset(seed=seed)[0]
    assert len({row.tobytes() for row in first}) == 4
    kill_some(fragile)
    assert np.abs(env.step(GO)[0] - first).max() < 0.5  # it goes on from there
    assert env.connection_stats.recovered == 1
    kill_some(fragile)
    assert not (env.reset()[0] == first).any()
    env.close()


def test_seeds_for_some_leave_the_others_where_they_are(fragile: Server) -> None:
    settings: dict[str, Any] = {"sessions": 1, "on_lost": "replay", "autoreset_mode": "DISABLED"}

    def drive(env: Any, disturb: bool) -> list[Any]:
        seen = [env.reset(seed=1), env.step(GO)]
        mask = np.array([True, False, False, True])
        seen += [env.reset(seed=9, options={"reset_mask": mask}), env.step(GO)]
        if disturb:
            kill_some(fragile)
        seen.append(env.step(GO))
        env.close()
        return seen

    first, second = (
        drive(FAMILIES["envwire"].remote(fragile.target, "CartPole-v1", 4, **settings), disturb)
        for disturb in (False, True)
    )
    assert identical(first, second)


def test_first_finished_batches(fragile: Server) -> None:
    def drive(env: Any, disturb: bool) -> dict[int, list[list[float]]]:
        seen: dict[int, list[list[float]]] = {index: [] for index in range(4)}
        env.reset_async(seed=2)
        for turn in range(300):
            if turn >= 30 and min(map(len, seen.values())) > 3:
                break
            if disturb and turn % 7 == 3:
                kill_some(fragile)
            observations, *_, infos = env.recv()
            for index, row in zip(infos["env_id"], observations, strict=True):
                seen[int(index)].append(row.tolist())
            env.send(np.array(infos["env_id"] % 2, np.int64))
        env.close()
        return seen

    settings: dict[str, Any] = {"sessions": 4, "batch_size": 2, "on_lost": "replay"}
    first, second = (
        drive(FAMILIES["envwire"].remote(fragile.target, "CartPole-v1", 4, **settings), disturb)
        for disturb in (False, True)
    )
    for index in range(4):  # which come first is nobody's to say, what they say is
        both = min(len(first[index]), len(second[index]))
        assert both > 3
        assert first[index][:both] == second[index][:both]


def test_what_else_is_asked_goes_on_as_well(fragile: Server) -> None:
    env = FAMILIES["envwire"].remote(fragile.target, "CartPole-v1", 4, sessions=2, on_lost="replay")
    env.set_attr("mark", [1, 2, 3, 4])
    env.reset(seed=1)
    env.step(GO)
    kill_some(fragile)
    assert env.get_attr("mark") == (1, 2, 3, 4)
    kill_some(fragile)
    env.set_attr("mark", [5, 6, 7, 8])
    assert env.call("mark") == (5, 6, 7, 8)
    kill_some(fragile)
    assert len(env.np_random) == 4
    assert env.connection_stats[1:] == (3, 3)
    env.close()


def test_a_server_that_is_gone_is_replaced_by_another(fragile: Server) -> None:
    expected = rollout(FAMILIES["envwire"].local("FrozenLake-v1", 4), 40, 3)
    with Server(HOSTED, **SETTINGS) as doomed:
        env = FAMILIES["envwire"].remote(
            [doomed.target, fragile.target], "FrozenLake-v1", 4, sessions=2, on_lost="replay"
        )
        env.action_space.seed(3)
        seen: list[Any] = [env.reset(seed=3)]
        for step in range(40):
            if step == 20:
                os.kill(doomed.pid, signal.SIGKILL)
            seen.append(env.step(env.action_space.sample()))
        assert identical(seen, expected)
        assert env.connection_stats.recovered == 1
        env.close()


def test_what_cannot_be_replayed_is_told_and_reset_begins_anew(fragile: Server) -> None:
    env = FAMILIES["envwire"].remote(
        fragile.target, "CartPole-v1", 4, sessions=2, on_lost="replay", replay_limit=3
    )
    first = env.reset(seed=1)[0]
    for _ in range(4):
        env.step(GO)
    kill_some(fragile)
    with pytest.raises(ReplayError, match="replay_limit=3"):
        env.step(GO)
    assert identical(env.reset(seed=1)[0], first)
    env.close()


def test_a_step_that_kills_its_session_again_and_again_is_told(fragile: Server) -> None:
    env = FAMILIES["envwire"].remote(
        fragile.target, "tests/Faulty-v0", 2, sessions=2, on_lost="replay", anonymous=True
    )
    env.reset(seed=1)
    with pytest.raises(SessionLostError, match="SIGABRT"):
        env.step(np.array([0, int(Fault.ABORT)]))
    assert env.connection_stats[1:] == (3, 2)
    assert env.reset(seed=1)[0].ravel().tolist() == [0.0, 0.0]
    env.close()
