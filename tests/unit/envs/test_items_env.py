"""Items 1 to 54 of the API: `Env`, its four methods, its attributes."""

import io
from typing import get_args

import numpy as np
import pytest

import envwire.envs as gym
from envwire.envs import spaces
from envwire.envs.error import Error, ResetNeeded
from envwire.envs.utils.step_api_compatibility import step_api_compatibility
from tests.unit.envs.toys import BUILT_IN_IDS, Walk


@pytest.fixture
def env():
    return Walk()


@pytest.fixture
def cartpole():
    return gym.make("CartPole-v1")


def test_items_1_4_94_an_env_is_its_four_methods(env):
    observation, info = env.reset(seed=1)
    assert len(env.step(np.ones(1))) == 5
    env.render_mode = "ansi"
    assert isinstance(env.render(), str)
    assert env.close() is None
    assert isinstance(observation, np.ndarray)
    assert isinstance(info, dict)
    bare = gym.Env()
    for call in (lambda: bare.step(0), bare.render):
        with pytest.raises(NotImplementedError):
            call()


def test_item_2_env_is_generic_in_observations_and_actions():
    assert get_args(gym.Env[int, str]) == (int, str)
    assert get_args(gym.Env[int]) == (int, gym.core.ActType) or len(get_args(gym.Env[int])) == 2
    assert len(get_args(gym.Wrapper[int, int])) == 4

    class Typed(gym.Env[np.ndarray, int]):
        pass

    assert Typed().spec is None


def test_item_3_one_agent_per_env(env):
    _, reward, terminated, truncated, _ = (env.reset(), env.step(np.ones(1)))[1]
    assert np.ndim(reward) == 0
    assert type(terminated) is type(truncated) is bool


def test_item_5_reset_comes_before_step(cartpole):
    with pytest.raises(ResetNeeded):
        cartpole.step(0)
    with pytest.raises(AssertionError, match="reset"):
        cartpole.unwrapped.step(0)


@pytest.mark.parametrize("env_id", BUILT_IN_IDS)
def test_items_6_7_19_spaces_hold_every_action_and_observation(env_id):
    env = gym.make(env_id)
    env.action_space.seed(5)
    observation, _ = env.reset(seed=5)
    assert observation in env.observation_space
    for _ in range(50):
        action = env.action_space.sample()
        assert action in env.action_space
        observation, _, terminated, truncated, _ = env.step(action)
        if env_id.startswith(("CartPole", "MountainCar-")) and terminated:
            break
        assert observation in env.observation_space
        if terminated or truncated:
            env.reset()
    assert np.full((7,), np.nan) not in env.action_space


def test_item_8_reward_range_defaults_to_all_numbers_and_narrows(env):
    assert gym.Env.reward_range == (-np.inf, np.inf)
    env.reward_range = (0.0, 1.0)
    assert Walk().reward_range == (-np.inf, np.inf)
    assert gym.wrappers.TimeLimit(env, 3).reward_range == (0.0, 1.0)
    assert gym.make("FrozenLake-v1").reward_range == (0, 1)


def test_item_9_spec_is_none_until_make_sets_it(env, cartpole):
    assert gym.Env.spec is None
    assert env.spec is None
    assert cartpole.spec.id == "CartPole-v1"
    assert cartpole.unwrapped.spec.kwargs == {}


def test_item_10_metadata(env):
    assert gym.Env.metadata == {"render_modes": []}
    assert env.metadata["render_modes"] == ["rgb_array", "ansi"]
    assert env.metadata["render_fps"] == 7
    env.metadata = {**env.metadata, "jax": True}
    assert gym.wrappers.OrderEnforcing(env).metadata["jax"] is True
    assert "jax" not in Walk.metadata


def test_item_11_render_mode_is_none_unless_chosen():
    assert gym.Env.render_mode is None
    assert Walk(render_mode="ansi").render_mode == "ansi"
    assert gym.make("CartPole-v1", render_mode="rgb_array").render_mode == "rgb_array"


def test_items_12_30_np_random_begins_on_first_use_from_entropy():
    envs = Walk(), Walk()
    assert all(env._np_random is None for env in envs)
    draws = [env.np_random.random() for env in envs]
    assert draws[0] != draws[1]
    assert isinstance(envs[0].np_random, np.random.Generator)
    env = Walk()
    env.reset()
    assert env._np_random is not None


def test_items_13_14_np_random_seed(env):
    assert env._np_random_seed is None
    assert env.np_random_seed > 2**64, "the seed of an unseeded env is 128 bits of entropy"
    env.reset(seed=2**70)
    assert (env.np_random_seed, env._np_random_seed) == (2**70, 2**70)
    with pytest.raises(AttributeError):
        env.np_random_seed = 3
    env.np_random = np.random.default_rng(3)
    assert env.np_random_seed == -1


def test_item_15_unwrapped_is_itself_on_a_bare_env(env):
    assert env.unwrapped is env


def test_item_16_seeding_the_action_space_repeats_actions_and_seeding_the_env_does_not(env):
    env.action_space.seed(123)
    first = [env.action_space.sample().item() for _ in range(3)]
    env.action_space.seed(123)
    env.reset(seed=9)
    assert [env.action_space.sample().item() for _ in range(3)] == first


def test_item_17_a_wrapper_extends_an_env(env):
    assert isinstance(gym.wrappers.TimeLimit(env, 3), gym.Env)


def test_items_18_20_23_step_returns_five(env):
    env.reset(seed=1)
    observation, reward, terminated, truncated, info = env.step(np.ones(1))
    assert observation[1] == 1
    assert float(reward) == observation[0]
    assert (terminated, truncated) == (False, False)
    assert info == {"t": 1}


def test_items_21_22_terminated_is_the_task_and_truncated_the_limit():
    env = gym.wrappers.TimeLimit(Walk(goal=2.9), 2)
    env.reset(seed=1)
    assert env.step(np.ones(1))[2:4] == (False, False)
    assert env.step(np.ones(1))[2:4] == (False, True)
    env = Walk(goal=1.0)
    env.reset(seed=1)
    ends = [env.step(np.ones(1))[2:4] for _ in range(2)]
    assert ends[-1] == (True, False)


@pytest.mark.filterwarnings("ignore:.*old step API|.*step API before")
def test_items_24_26_done_and_four_elements_are_refused_unless_converted():
    class Old(Walk):
        def step(self, action):
            observation, reward, terminated, _, info = super().step(action)
            return observation, reward, terminated, {**info, "TimeLimit.truncated": terminated}

    env = gym.wrappers.PassiveEnvChecker(Old(goal=0.1))
    env.reset(seed=1)
    with pytest.raises(ValueError, match="unpack"):
        env.step(np.ones(1))
    assert step_api_compatibility(Old.step(env.unwrapped, np.ones(1)))[2:4] == (False, True)


def test_item_25_the_caller_resets_after_the_end(cartpole):
    cartpole.reset(seed=1)
    while not cartpole.step(1)[2]:
        pass
    with pytest.warns(UserWarning, match="terminated = True"):
        assert cartpole.step(1)[1:3] == (0.0, True)
    assert cartpole.reset()[0] in cartpole.observation_space


def test_items_27_28_36_reset_takes_keywords_and_returns_two(env):
    with pytest.raises(TypeError):
        env.reset(3)
    observation, info = env.reset(seed=None, options=None)
    assert observation.shape == env.step(np.ones(1))[0].shape
    assert info == {"options": None}


def test_items_29_31_32_34_a_seed_restarts_the_generator_and_none_does_not(env):
    first = env.reset(seed=4)[0][0], env.reset()[0][0], env.reset()[0][0]
    assert len(set(first)) == 3
    assert env.np_random_seed == 4
    again = env.reset(seed=4)[0][0], env.reset()[0][0], env.reset()[0][0]
    assert again == first


@pytest.mark.parametrize("seed", [-1, 1.0, np.int64(3), "7"])
def test_item_29_a_seed_is_a_python_int_from_zero(env, seed):
    with pytest.raises(Error):
        env.reset(seed=seed)


def test_item_33_custom_envs_call_super_reset(env):
    env.reset(seed=11)
    rng, _ = gym.utils.seeding.np_random(11)
    assert env.x == rng.uniform(-0.5, 0.5)


def test_item_35_options_reach_the_env(env, cartpole):
    assert env.reset(options={"level": 3})[1] == {"options": {"level": 3}}
    state, _ = cartpole.reset(seed=1, options={"low": 0.01, "high": 0.02})
    assert np.all((state >= 0.01) & (state <= 0.02))
    with pytest.raises(ValueError, match="low"):
        cartpole.reset(options={"low": 0.2, "high": 0.1})
    with pytest.raises(ValueError, match="number"):
        cartpole.reset(options={"low": "x"})


def test_item_37_render_takes_no_parameters(cartpole):
    with pytest.raises(TypeError):
        cartpole.render("rgb_array")


def test_items_38_39_without_a_mode_nothing_is_rendered(cartpole):
    cartpole.reset(seed=1)
    with pytest.warns(UserWarning, match="render_mode"):
        assert cartpole.render() is None


@pytest.mark.filterwarnings("ignore:.*no 'human' render mode")
def test_items_40_48_human_is_shown_by_step(monkeypatch):
    shown = []

    class Screen:
        def show(self, frame):
            shown.append(frame)

        def close(self):
            shown.append("closed")

    monkeypatch.setattr("envwire.envs.wrappers.rendering.default_display", Screen)
    monkeypatch.setattr("envwire.envs.wrappers.human.Pacer.wait", lambda _: None)
    env = gym.make("CartPole-v1", render_mode="human")
    assert env.render_mode == "human"
    env.reset(seed=1)
    env.step(0)
    assert env.render() is None
    env.close()
    assert [getattr(frame, "shape", frame) for frame in shown] == [
        (400, 600, 3), (400, 600, 3), "closed",
    ]  # fmt: skip


@pytest.mark.parametrize("env_id", BUILT_IN_IDS)
def test_item_41_rgb_array_is_one_frame(env_id):
    env = gym.make(env_id, render_mode="rgb_array")
    env.reset(seed=1)
    first = env.render()
    assert first.dtype == np.uint8
    assert first.ndim == 3
    assert first.shape[2] == 3
    env.action_space.seed(2)
    env.step(env.action_space.sample())
    second = env.render()
    assert second.shape == first.shape
    assert second is not first
    if env_id.startswith("CartPole"):
        assert first.shape == (400, 600, 3)
        assert not np.array_equal(first, second)


def test_item_42_ansi_is_text_with_newlines_and_escapes():
    env = gym.make("FrozenLake-v1", render_mode="ansi", disable_env_checker=True)
    env.reset(seed=1)
    assert "\n" in env.render()
    assert "\x1b[41m" in env.render()
    assert isinstance(io.StringIO(env.render()).read(), str)


@pytest.mark.parametrize("mode", ["rgb_array", "ansi"])
def test_items_43_44_list_modes_pop_on_render_or_reset(mode):
    env = gym.make("CartPole-v1", render_mode=f"{mode}_list")
    assert env.render_mode == f"{mode}_list"
    assert isinstance(env, gym.wrappers.RenderCollection)
    env.reset(seed=1)
    for _ in range(5):
        env.step(0)
    assert len(env.render()) == 6, "the frame of the reset counts"
    assert env.render() == []
    env.step(1)
    env.reset()
    assert len(env.render()) == 1
    env = gym.wrappers.RenderCollection(Walk("ansi"), pop_frames=False, reset_clean=False)
    env.reset(), env.reset()
    assert len(env.render()) == len(env.render()) == 2


def test_item_45_metadata_lists_the_supported_modes():
    for env_id in BUILT_IN_IDS:
        for mode in gym.make(env_id).metadata["render_modes"]:
            env = gym.make(env_id, render_mode=mode)
            env.reset(seed=1)
            assert env.render() is not None
    with pytest.warns(UserWarning, match="not one of"):
        gym.make("CartPole-v1", render_mode="depth_array")


def test_items_46_47_rendering_objects_live_from_the_constructor():
    assert gym.make("CartPole-v1", render_mode="rgb_array").unwrapped.render() is None


def test_item_49_render_returns_a_frame_a_list_or_none():
    union = get_args(gym.core.RenderFrame)
    assert str in union
    assert any(getattr(part, "__origin__", None) is np.ndarray for part in union)


def test_items_50_51_52_close_cleans_up_and_may_be_called_twice(env):
    with gym.wrappers.PassiveEnvChecker(env) as wrapped:
        wrapped.reset()
    wrapped.close()
    assert env.closed == 2
    gym.Env().close()
    with pytest.raises(KeyError), Walk():
        raise KeyError("an exception in the block is not swallowed")


def test_item_53_discrete_2_holds_0_and_1():
    space = spaces.Discrete(2)
    assert [n for n in range(-3, 5) if n in space] == [0, 1]
    assert gym.make("CartPole-v1").action_space == space


def test_item_54_cartpoles_box():
    box = gym.make("CartPole-v1").observation_space
    assert box.shape == (4,)
    assert box.high.tolist() == np.float32([4.8, np.inf, 24 * np.pi / 180, np.inf]).tolist()
    assert box.low.tolist() == (-box.high).tolist()
    assert repr(spaces.Box(-np.inf, np.inf, (4,), np.float32)) == "Box(-inf, inf, (4,), float32)"
