"""The built-in environments beside Gymnasium's: the same bits from the same seed."""

import gymnasium
import gymnasium.envs.toy_text.frozen_lake
import numpy as np
import pytest

import envwire.envs
from envwire.envs.envs.toy_text.frozen_lake import generate_random_map
from envwire.testing.comparing import identical as same
from tests.unit.envs.toys import SHARED_IDS

LIBRARIES = (envwire.envs, gymnasium)

VARIANTS = [
    ("CartPole-v1", {"sutton_barto_reward": True}, {}),
    ("CartPole-v1", {}, {"kinematics_integrator": "semi-implicit", "gravity": 3.0}),
    ("Pendulum-v1", {"g": 3.7}, {}),
    ("MountainCar-v0", {"goal_velocity": 0.01}, {}),
    ("MountainCarContinuous-v0", {"goal_velocity": 0.02}, {}),
    ("Acrobot-v1", {}, {"book_or_nips": "nips"}),
    ("Acrobot-v1", {}, {"torque_noise_max": 0.5}),
    ("FrozenLake-v1", {"is_slippery": False}, {}),
    ("FrozenLake-v1", {"success_rate": 0.8, "reward_schedule": (5, -1, -0.25)}, {}),
    ("FrozenLake-v1", {"desc": ["SFSF", "FHFG"]}, {}),
]


def assert_same_rollout(ours, theirs, seed, steps, options=None):
    assert same(ours.reset(seed=seed, options=options), theirs.reset(seed=seed, options=options))
    ours.action_space.seed(seed)
    for _ in range(steps):
        action = ours.action_space.sample()
        result = ours.step(action)
        assert same(result, theirs.step(action)), (action, result)
        if result[2] or result[3]:
            assert same(ours.reset(), theirs.reset())
    assert same(ours.np_random.random(), theirs.np_random.random())


@pytest.mark.parametrize("seed", [0, 42, 2**80])
@pytest.mark.parametrize("env_id", SHARED_IDS)
def test_rollouts_are_the_same(env_id, seed):
    ours, theirs = (gym.make(env_id) for gym in LIBRARIES)
    for name in ("action_space", "observation_space"):
        assert repr(getattr(ours, name)) == repr(getattr(theirs, name))
    assert ours.spec.max_episode_steps == theirs.spec.max_episode_steps
    assert ours.spec.reward_threshold == theirs.spec.reward_threshold
    assert_same_rollout(ours, theirs, seed, steps=1000)


@pytest.mark.parametrize(("env_id", "kwargs", "attributes"), VARIANTS)
def test_variants_are_the_same(env_id, kwargs, attributes):
    ours, theirs = (gym.make(env_id, **kwargs) for gym in LIBRARIES)
    for env in (ours, theirs):
        for name, value in attributes.items():
            env.set_wrapper_attr(name, value)
    assert_same_rollout(ours, theirs, seed=7, steps=400)


@pytest.mark.parametrize(
    ("env_id", "options"),
    [
        ("CartPole-v1", {"low": -0.1, "high": 0.1}),
        ("CartPole-v1", {"low": 0}),
        ("Pendulum-v1", {"x_init": 0.5}),
        ("Pendulum-v1", {"x_init": 0.1, "y_init": 2}),
        ("MountainCar-v0", {"low": -1.0, "high": -0.9}),
        ("MountainCarContinuous-v0", {"high": 0.3}),
        ("Acrobot-v1", {"low": -1, "high": "1"}),
        ("FrozenLake-v1", {"low": 1}),
    ],
)
def test_reset_options_are_the_same(env_id, options):
    ours, theirs = (gym.make(env_id) for gym in LIBRARIES)
    assert_same_rollout(ours, theirs, seed=5, steps=60, options=options)


@pytest.mark.parametrize("env_id", SHARED_IDS)
def test_wrong_options_are_refused_alike(env_id):
    for options in ({"low": 1, "high": 0}, {"low": "x"}, {"x_init": None}):
        raised = []
        for gym in LIBRARIES:
            try:
                gym.make(env_id).reset(seed=1, options=options)
            except ValueError as exc:
                raised.append(type(exc))
        assert len(raised) in (0, 2), options


def test_extreme_torques_are_clipped_to_the_same_reward():
    ours, theirs = (gym.make("Pendulum-v1").unwrapped for gym in LIBRARIES)
    for action in (np.float32([9]), np.float32([-9]), np.array([0.3]), np.array([7])):
        for env in (ours, theirs):
            env.reset(seed=1)
        assert same(ours.step(action), theirs.step(action))


@pytest.mark.parametrize("env_id", ["CartPole-v1", "MountainCar-v0", "GridWorld-v0"])
def test_wrong_actions_are_refused(env_id):
    env = envwire.envs.make(env_id)
    env.reset(seed=1)
    for action in (7, -1, 1.5, "left"):
        with pytest.raises(AssertionError, match="invalid"):
            env.step(action)


@pytest.mark.parametrize("env_id", [*SHARED_IDS, "GridWorld-v0"])
def test_a_bare_env_wants_a_reset_first(env_id):
    env = envwire.envs.make(env_id, render_mode="rgb_array").unwrapped
    with pytest.raises(AssertionError, match="reset"):
        env.step(env.action_space.sample())
    assert env.render() is None


@pytest.mark.parametrize("seed", range(5))
def test_random_maps_are_the_same_and_lead_to_the_goal(seed):
    theirs = gymnasium.envs.toy_text.frozen_lake.generate_random_map(6, 0.6, seed)
    assert generate_random_map(6, 0.6, seed) == theirs


def test_frozen_lake_without_a_map_name_is_random():
    lake = envwire.envs.make("FrozenLake-v1", map_name=None).unwrapped
    assert lake.desc.shape == (8, 8)
    assert same(lake.P[63], {action: [(1.0, 63, 0, True)] for action in range(4)})


def test_frozen_lakes_model_is_the_same():
    ours, theirs = (gym.make("FrozenLake8x8-v1").unwrapped for gym in LIBRARIES)
    assert ours.P == theirs.P
    assert ours.desc.tolist() == theirs.desc.tolist()


def test_frozen_lakes_text_is_the_same():
    ours, theirs = (gym.make("FrozenLake-v1", render_mode="ansi") for gym in LIBRARIES)
    for env in (ours, theirs):
        env.reset(seed=2)
    for action in (0, 1, 2, 3):
        assert ours.render() == theirs.render()
        ours.step(action)
        theirs.step(action)


@pytest.mark.parametrize("kwargs", [{}, {"sutton_barto_reward": True, "max_episode_steps": 15}])
def test_the_vectorised_cartpole_is_the_same(kwargs):
    ours, theirs = (gym.make_vec("CartPole-v1", num_envs=7, **kwargs) for gym in LIBRARIES)
    options = {"low": -0.2, "high": 0.1}
    assert same(ours.reset(seed=3, options=options), theirs.reset(seed=3, options=options))
    ours.action_space.seed(3)
    for _ in range(300):
        actions = ours.action_space.sample()
        assert same(ours.step(actions), theirs.step(actions))
    with pytest.raises(AssertionError, match="invalid"):
        ours.step(np.full(7, 2))


def test_the_vectorised_cartpole_draws_all():
    envs = envwire.envs.make_vec("CartPole-v1", num_envs=2, render_mode="rgb_array")
    with pytest.raises(ValueError, match="reset"):
        envs.render()
    with pytest.raises(AssertionError, match="reset"):
        envs.step(np.zeros(2, np.int64))
    envs.reset(seed=1)
    first, second = envs.render()
    assert first.shape == second.shape == (400, 600, 3)
    assert not np.array_equal(first, second)
    with pytest.warns(UserWarning, match="render_mode"):
        envwire.envs.make_vec("CartPole-v1").render()


def test_grid_world_walks_to_the_target():
    env = envwire.envs.make("GridWorld-v0", size=4)
    with pytest.raises(ValueError, match="size"):
        envwire.envs.make("GridWorld-v0", size=1)
    for seed in range(20):
        observation, info = env.reset(seed=seed)
        terminated, moves, distance = False, 0, info["distance"]
        assert distance > 0
        while not terminated:
            right, up = observation["target"] - observation["agent"]
            action = (0 if right > 0 else 2) if right else (1 if up > 0 else 3)
            observation, reward, terminated, _, info = env.step(action)
            moves += 1
            assert reward == float(terminated)
        assert (moves, info["distance"]) == (distance, 0)
    observation, _ = env.reset(seed=1)
    for _ in range(6):
        observation = env.step(2)[0]
    assert observation["agent"][0] == 0, "the edge holds"
