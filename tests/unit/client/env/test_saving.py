"""States that are saved and restored: by the environment itself, and by its recording, in one process."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from envwire.client import InvalidRequestError, RemoteEnv, SessionClosedError
from envwire.client._transports.transport import call
from envwire.server._session import snapshots as _snapshots
from envwire.testing.comparing import identical
from envwire.v1 import environment_pb2 as pb
from tests.unit.client.recovery.test_strategies import Mortal, remote

SAVING, CARTPOLE = "tests/Saving-v0", "CartPole-v1"


@pytest.fixture
def there() -> Mortal:
    return Mortal()


def play(env: Any, steps: int) -> list[Any]:
    return [env.step(index % 2) for index in range(steps)]


#: An environment that offers its state, and one that is recorded.
WAYS = pytest.mark.parametrize(
    ("env_id", "on_lost"),
    [(SAVING, "raise"), (SAVING, "replay"), (CARTPOLE, "replay")],
    ids=["native", "native and recorded", "recorded"],
)


@WAYS
def test_what_follows_a_restored_state_is_what_followed_it_before(
    there: Mortal, env_id: str, on_lost: str
) -> None:
    env = remote(there, env_id, on_lost)
    env.reset(seed=1)
    play(env, 3)
    state = env.save_state()
    first = play(env, 6)
    for _ in range(2):
        env.restore_state(state)
        assert identical(play(env, 6), first)


def test_wrappers_and_the_generator_go_back_as_well(there: Mortal) -> None:
    env = remote(there, SAVING, "raise", wrappers=[("FrameStackObservation", {"stack_size": 2})])
    env.reset(seed=1)
    play(env, 10)
    state = env.save_state()
    first = play(env, 10)
    assert [step[3] for step in first] == [False] * 9 + [True], "the time limit of 20"
    env.restore_state(state)
    assert identical(play(env, 10), first)


@WAYS
def test_draws_on_this_side_belong_to_the_state(there: Mortal, env_id: str, on_lost: str) -> None:
    env = remote(there, env_id, on_lost)
    env.reset(seed=1)
    generator = env.np_random
    generator.random()
    state = env.save_state()
    first = [generator.random(), env.step(0), generator.random()]
    env.restore_state(state)
    assert identical([generator.random(), env.step(0), generator.random()], first)
    assert env.np_random is generator


@WAYS
def test_a_state_outlives_a_loss_when_all_is_replayed(
    there: Mortal, env_id: str, on_lost: str
) -> None:
    if on_lost == "raise":
        return
    env = remote(there, env_id, on_lost)
    env.reset(seed=1)
    state = env.save_state()
    first = play(env, 5)
    env.reset(seed=2)
    there.kill()
    env.restore_state(state)
    assert identical(play(env, 5), first)


def test_what_does_not_offer_its_state_says_how_it_could(there: Mortal) -> None:
    env = remote(there, CARTPOLE, "raise")
    env.reset(seed=1)
    with pytest.raises(InvalidRequestError, match=r"save_state\(\) and restore_state\(state\)"):
        env.save_state()
    with pytest.raises(InvalidRequestError, match="in process"):
        env.fork()


@WAYS
def test_a_state_belongs_to_one_environment(there: Mortal, env_id: str, on_lost: str) -> None:
    env, other = (remote(there, env_id, on_lost) for _ in range(2))
    env.reset(seed=1)
    state = env.save_state()
    with pytest.raises(InvalidRequestError, match="another environment"):
        other.restore_state(state)
    env.close()
    with pytest.raises(SessionClosedError):
        env.save_state()
    env.reset(seed=1)
    with pytest.raises(InvalidRequestError, match="another environment"):
        env.restore_state(state)


def test_a_session_keeps_so_many_states(there: Mortal, monkeypatch: pytest.MonkeyPatch) -> None:
    env = remote(there, SAVING, "raise")
    env.reset(seed=1)
    monkeypatch.setattr(_snapshots, "MAX_STATES", 2)
    first, second, third = (env.save_state() for _ in range(3))
    with pytest.raises(InvalidRequestError, match="state 1 is not kept"):
        env.restore_state(first)
    for kept in (second, third):
        env.restore_state(kept)


def test_a_copy_that_is_replayed_goes_its_own_way(there: Mortal) -> None:
    env = remote(there, CARTPOLE, "replay")
    env.reset(seed=1)
    play(env, 4)
    env.action_space.seed(3)
    twin = env.fork()
    assert isinstance(twin, RemoteEnv)
    assert twin.action_space.sample() == env.action_space.sample()
    assert identical(play(twin, 5), play(env, 5))
    there.kill()
    assert not identical(env.step(1)[0], twin.step(0)[0])
    assert (env.connection_stats.recovered, twin.connection_stats.recovered) == (1, 1)
    twin.close()
    env.step(0)


@pytest.mark.parametrize(
    ("env_id", "capabilities"),
    [
        (SAVING, ["ahead", "chunk", "replay", "times", "save_state"]),
        (CARTPOLE, ["ahead", "chunk", "replay", "times"]),
    ],
)
def test_what_a_session_can_do_is_told_when_it_is_made(
    there: Mortal, env_id: str, capabilities: list[str]
) -> None:
    request = pb.InteractRequest(make=pb.MakeRequest(env_id=env_id))
    assert call(there, request, 5.0).make.capabilities == capabilities


class Odd:
    """Methods of these names that mean something else."""

    unwrapped: Any = None

    def get_state(self, which: int) -> int:
        return which

    def set_state(self, positions: Any, velocities: Any) -> None: ...


@pytest.mark.parametrize("env", [Odd(), object(), np.zeros(1)])
def test_methods_of_another_meaning_are_not_taken_for_it(env: Any) -> None:
    assert _snapshots.find_native(env) is None
