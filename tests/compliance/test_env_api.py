"""The Env API: the same tests for local environments, and remote ones over each transport and with each class."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import pytest

import envwire.envs
from envwire.server import Server
from envwire.testing.comparing import identical as same
from envwire.testing.comparing import rollout
from tests.faces import ALL, CONTRACT, CORE, REMOTE, Face
from tests.secured import OPEN, Guard
from tests.tiers import first

pytestmark = pytest.mark.filterwarnings("default")


@pytest.fixture(scope="module")
def guard() -> Guard:
    """The transport, and its server, of faces that need one."""
    return OPEN


@pytest.fixture(params=first(ALL, CORE))
def face(request: pytest.FixtureRequest) -> Face:
    return request.param  # type: ignore[no-any-return]


@pytest.fixture
def env(face: Face, server: Server) -> Iterator[Any]:
    made = face(server.target, "CartPole-v1", render_mode="rgb_array")
    yield made
    made.close()


@pytest.fixture
def awkward(face: Face, server: Server) -> Iterator[Any]:
    made = face(server.target, "tests/Awkward-v0")
    yield made
    made.close()


@CONTRACT
@pytest.mark.parametrize("seed", first([2**70, 0, 1]))
def test_trajectories_equal_the_local_ones(env: Any, seed: int) -> None:
    local = envwire.envs.make("CartPole-v1")
    assert same(rollout(env, 100, seed), rollout(local, 100, seed))


def test_reset_without_seed_goes_on_with_the_generator(env: Any) -> None:
    local = envwire.envs.make("CartPole-v1")
    for made in (env, local):
        made.reset(seed=5)
    assert same([env.reset() for _ in range(3)], [local.reset() for _ in range(3)])


@CONTRACT
def test_attributes(awkward: Any) -> None:
    local = envwire.envs.make("tests/Awkward-v0")
    assert str(awkward.observation_space) == str(local.observation_space)
    assert str(awkward.action_space) == str(local.action_space)
    assert awkward.metadata == local.metadata
    assert awkward.render_mode is None
    assert awkward.unwrapped.unwrapped is awkward.unwrapped
    assert awkward.get_wrapper_attr("reward_range") == (-1.5, 2)


@CONTRACT
def test_spec(face: Face, server: Server) -> None:
    env = face(server.target, "CartPole-v1")
    made = face is ALL["gymnasium.make"]  # which puts the specification of its own id there
    assert env.spec.id == ("envwire/Remote-v0" if made else "CartPole-v1")
    assert (env.spec.max_episode_steps, env.spec.reward_threshold) == (500, 475.0)
    env.close()


@CONTRACT
def test_spaces_draw_the_same_samples(awkward: Any) -> None:
    local = envwire.envs.make("tests/Awkward-v0")
    # Not seeded here: the environment seeded it, and the draws must follow from that.
    assert same(awkward.action_space.sample(), local.action_space.sample())
    for made in (awkward, local):
        made.observation_space.seed(9)
    assert same(awkward.observation_space.sample(), local.observation_space.sample())
    assert awkward.observation_space is awkward.observation_space


@CONTRACT
def test_every_value_arrives_as_it_was(awkward: Any) -> None:
    local = envwire.envs.make("tests/Awkward-v0")
    options = {"nested": {"list": [1, 2.5, None]}, 3: (np.int64(4), b"x")}
    mine, theirs = (made.reset(seed=11, options=options) for made in (awkward, local))
    assert same(mine[1], theirs[1])
    action = awkward.action_space.sample()
    mine, theirs = (made.step(action) for made in (awkward, local))
    for one, other in zip(mine[1:4], theirs[1:4], strict=True):
        assert same(one, other)
    for info in (mine[4], theirs[4]):
        assert "_commit" in getattr(info.pop("function"), "text", "_commit")
    assert same(mine[4], theirs[4])


def test_observations_are_fresh_and_writable(awkward: Any) -> None:
    first = awkward.reset(seed=0)[0]["b"].copy()
    before = awkward.step(awkward.action_space.sample())[0]["b"]
    assert same(before - first, np.full((2, 3), 0.25, np.float16)) or before is not first
    if "local" not in str(type(awkward)).lower() and hasattr(awkward.unwrapped, "_handle"):
        kept = before.copy()
        after = awkward.step(awkward.action_space.sample())[0]["b"]
        assert same(before, kept)
        assert not np.shares_memory(before, after)
        after[...] = 0


@CONTRACT
def test_errors_are_the_local_ones(face: Face, server: Server) -> None:
    env = face(server.target, "tests/Faulty-v0")
    with pytest.raises(Exception, match="reset") as before_reset:
        env.step(0)
    assert type(before_reset.value).__name__ == "ResetNeeded"
    env.reset(seed=0)
    with pytest.raises(ValueError, match="the wheel fell off") as raised:
        env.step(1)
    assert raised.value.args == ("the wheel fell off", 42)
    assert env.step(0)[4] == {"steps": 1}, "an error leaves the environment as it was"
    env.close()


@CONTRACT
@pytest.mark.parametrize(
    ("env_id", "kind"),
    [
        ("CartPool-v1", "NameNotFound"),
        ("nowhere/CartPole-v1", "NamespaceNotFound"),
        ("CartPole-v7", "VersionNotFound"),
    ],
)
def test_unknown_ids_are_errors_of_the_family(
    face: Face, server: Server, env_id: str, kind: str
) -> None:
    with pytest.raises(Exception, match=env_id.partition("/")[0].partition("-")[0]) as unknown:
        face(server.target, env_id)
    assert kind in {base.__name__ for base in type(unknown.value).__mro__}


@CONTRACT
def test_warnings_reach_the_caller(face: Face, server: Server) -> None:
    env = face(server.target, "tests/Faulty-v0")
    env.reset()
    with pytest.warns(UserWarning, match="the wheel is loose"):
        env.step(6)
    env.close()


@CONTRACT
def test_wrapper_attributes(face: Face, server: Server) -> None:
    env = face(server.target, "tests/Faulty-v0")
    env.reset()
    assert env.has_wrapper_attr("steps")
    assert not env.has_wrapper_attr("no_such_thing")
    env.step(0)
    assert env.get_wrapper_attr("steps") == 1
    assert env.set_wrapper_attr("steps", 41)
    assert env.step(0)[4] == {"steps": 42}
    assert env.get_wrapper_attr("add")(2, right=3) == 5
    with pytest.raises(AttributeError):
        env.get_wrapper_attr("no_such_thing")
    assert env.set_wrapper_attr("fresh", 1, force=False) is False
    env.close()


@CONTRACT
def test_rendering(face: Face, server: Server) -> None:
    local = envwire.envs.make("tests/Awkward-v0", render_mode="rgb_array")
    env = face(server.target, "tests/Awkward-v0", render_mode="rgb_array")
    for made in (env, local):
        made.reset(seed=0)
    assert same(env.render(), local.render())
    env.close()
    text = face(server.target, "tests/Faulty-v0", render_mode="ansi")
    text.reset()
    assert text.render() == "steps: 0"
    text.close()


@CONTRACT
def test_list_modes_pop_their_frames(face: Face, server: Server) -> None:
    env = face(server.target, "tests/Awkward-v0", render_mode="rgb_array_list")
    env.reset(seed=0)
    for _ in range(5):
        env.step(env.action_space.sample())
    assert [len(env.render()), len(env.render())] == [6, 0]
    env.close()


@CONTRACT
def test_np_random_is_the_environments_own(face: Face, server: Server) -> None:
    env, local = face(server.target, "tests/Awkward-v0"), envwire.envs.make("tests/Awkward-v0")
    action = env.action_space.sample()
    drawn = []
    for made in (env, local):
        made.reset(seed=7)
        generator = made.unwrapped.np_random
        draws = [generator.random()]
        draws += [made.step(action)[4]["draw"], generator.random(), made.step(action)[4]["draw"]]
        drawn.append(draws)
        assert made.unwrapped.np_random_seed == 7
    assert drawn[0] == drawn[1]
    env.close()


def test_np_random_goes_on_after_a_method_that_drew(face: Face, server: Server) -> None:
    env, local = face(server.target, "tests/Awkward-v0"), envwire.envs.make("tests/Awkward-v0")
    action = env.action_space.sample()
    drawn: list[Any] = []
    for made in (env, local):
        made.reset(seed=7)
        generator = made.unwrapped.np_random
        draws = [generator.random(), made.step(action)[4]["draw"], made.get_wrapper_attr("draw")()]
        draws += [
            generator.random(),
            made.unwrapped.np_random.random(),
            made.step(action)[4]["draw"],
        ]
        drawn.append(draws)
    assert drawn[0] == drawn[1]
    env.close()


def test_np_random_goes_on_after_whatever_drew_and_whatever_raised(
    face: Face, server: Server
) -> None:
    env = face(server.target, "tests/Drawing-v0", render_mode="ansi")
    local = envwire.envs.make("tests/Drawing-v0", render_mode="ansi")
    for made in (env, local):
        made.reset(seed=7)
        assert made.unwrapped.np_random is not None, "read, and from now on mirrored"
    calls: list[Callable[[Any], Any]] = [
        lambda made: made.step(1),
        lambda made: made.render(),
        lambda made: made.get_wrapper_attr("draw")(),
        lambda made: made.reset(),
        lambda made: made.reset(seed=3),
    ]
    for broken in (False, True, False):
        for call in [partial(_set, broken=broken), *calls]:
            assert _outcome(call, env) == _outcome(call, local)
            states = [made.unwrapped.np_random.bit_generator.state for made in (env, local)]
            assert states[0] == states[1]
        assert env.unwrapped.np_random.random() == local.unwrapped.np_random.random()
        assert _outcome(calls[0], env) == _outcome(calls[0], local)
    env.close()


def _set(made: Any, *, broken: bool) -> None:
    made.set_wrapper_attr("broken", broken)


def _outcome(call: Callable[[Any], Any], made: Any) -> str:
    try:
        return repr(call(made))
    except LookupError as error:
        return repr(error)


@CONTRACT
def test_setting_np_random(face: Face, server: Server) -> None:
    env, local = face(server.target, "tests/Awkward-v0"), envwire.envs.make("tests/Awkward-v0")
    for made in (env, local):
        made.reset(seed=7)
        made.unwrapped.np_random = np.random.Generator(np.random.MT19937(3))
        assert made.unwrapped.np_random_seed == -1
    action = env.action_space.sample()
    assert env.step(action)[4]["draw"] == local.step(action)[4]["draw"]
    env.close()


@pytest.mark.parametrize("seed", [-1, "five", 1.5, np.int64(3)])
def test_bad_seeds(env: Any, seed: Any) -> None:
    local = envwire.envs.make("CartPole-v1")
    outcomes = []
    for made in (env, local):
        try:
            outcomes.append(made.reset(seed=seed)[0].tolist())
        except Exception as error:
            outcomes.append(type(error).__name__)
    assert outcomes[0] == outcomes[1]


@CONTRACT
def test_closing_twice_is_harmless(env: Any) -> None:
    env.reset(seed=0)
    env.close()
    env.close()


@pytest.mark.parametrize("face", REMOTE.values(), ids=REMOTE.keys())
def test_reset_after_close_makes_it_again(face: Face, server: Server) -> None:
    env = face(server.target, "CartPole-v1")
    first = env.reset(seed=3)
    space = env.observation_space
    env.close()
    assert same(env.reset(seed=3), first)
    assert env.observation_space is space
    env.close()


@pytest.mark.parametrize("face", REMOTE.values(), ids=REMOTE.keys())
def test_wrappers_on_the_server(face: Face, server: Server) -> None:
    wrappers = [
        ("TimeLimit", {"max_episode_steps": 3}),
        ("tests.hosted_envs:Doubling", {"factor": 5}),
    ]
    env = face(server.target, "tests/Faulty-v0", wrappers=wrappers)
    env.reset()
    assert env.get_wrapper_attr("factor") == 5
    assert [env.step(0)[3] for _ in range(3)] == [False, False, True]
    env.close()
