"""Simulators whose sessions are killed, saved, restored and forked during an episode: the results do not change.

A family whose package is missing is skipped; `make test-guests` has them all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from envwire.client.gymnasium import RemoteEnv
from envwire.server import Server
from envwire.testing.comparing import identical
from tests.faults.scene import kill_sessions

pytestmark = pytest.mark.filterwarnings("default")

STEPS = 400
#: A rigid body engine with contacts, one that keeps warm starts, and one that looks at frames.
CASES = [("Box2D", "LunarLander-v3"), ("mujoco", "Hopper-v5"), ("ale_py", "ALE/Pong-v5")]


@pytest.fixture(params=CASES, ids=lambda case: case[1])
def hosted(request: pytest.FixtureRequest) -> Iterator[tuple[Server, str]]:
    """A server of one of them."""
    package, env_id = request.param
    pytest.importorskip(package)
    imports = ["ale_py"] if package == "ale_py" else []
    with Server([env_id], imports=imports) as server:
        yield server, env_id


def _run(env: Any, disturb: Callable[[], None], at: tuple[int, ...] = ()) -> list[Any]:
    env.action_space.seed(5)
    seen: list[Any] = [env.reset(seed=5)]
    for step in range(STEPS):
        if step in at:
            disturb()
        seen.append(env.step(env.action_space.sample()))
        if seen[-1][2] or seen[-1][3]:
            seen.append(env.reset())
    return seen


def test_a_killed_simulator_is_not_noticed_when_it_is_replayed(hosted: tuple[Server, str]) -> None:
    server, env_id = hosted
    quiet, replayed = RemoteEnv(server.target, env_id), None
    expected = _run(quiet, lambda: None)
    quiet.close()
    replayed = RemoteEnv(server.target, env_id, on_lost="replay")
    seen = _run(replayed, lambda: kill_sessions(server), (70, 71, 333))
    assert identical(seen, expected)
    assert replayed.connection_stats[1:] == (3, 3)
    replayed.close()


def test_a_fork_goes_on_as_the_first_does(hosted: tuple[Server, str]) -> None:
    server, env_id = hosted
    env = RemoteEnv(server.target, env_id)
    _run(env, lambda: None)
    twin = env.fork()
    actions = [env.action_space.sample() for _ in range(60)]
    assert identical([twin.step(each) for each in actions], [env.step(each) for each in actions])
    twin.close()
    env.close()


def test_a_state_of_the_emulator_is_restored(hosted: tuple[Server, str]) -> None:
    server, env_id = hosted
    if "ALE" not in env_id:
        pytest.skip("it does not offer its state")
    env = RemoteEnv(server.target, env_id)
    _run(env, lambda: None)
    state = env.save_state()
    actions = [env.action_space.sample() for _ in range(60)]
    first = [env.step(each) for each in actions]
    env.restore_state(state)
    assert identical([env.step(each) for each in actions], first)
    env.close()
