"""Items 55 to 89 of the API: `Wrapper` and its three kinds, with the documents' own examples."""

import numpy as np
import pytest

import envwire.envs as gym
from envwire.envs.envs.registration import WrapperSpec
from envwire.envs.spaces import Box, Discrete
from envwire.envs.wrappers import ClipAction, OrderEnforcing, RescaleAction, TimeAwareObservation
from tests.unit.envs.toys import Plain, Scaled, Walk


@pytest.fixture
def env():
    return Walk(render_mode="ansi")


@pytest.fixture
def wrapped(env):
    return Plain(env)


def test_items_55_66_73_74_a_wrapper_is_an_env_around_an_env(env, wrapped):
    outer = Plain(wrapped)
    assert isinstance(outer, gym.Env)
    assert (outer.env, outer.env.env) == (wrapped, env)
    assert outer.unwrapped is wrapped.unwrapped is env


def test_item_56_only_an_env_can_be_wrapped():
    with pytest.raises(TypeError, match="adapter"):
        Plain("CartPole-v1")

    class Forgetful(gym.Wrapper):
        def __init__(self, env):
            pass

    with pytest.raises(AttributeError):
        Forgetful(Walk()).reset()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("action_space", Discrete(3)),
        ("observation_space", Box(0, 1)),
        ("metadata", {"render_modes": ["human"]}),
        ("reward_range", (0.0, 1.0)),
    ],
)
def test_items_57_67_68_70_a_wrapper_may_have_its_own(env, wrapped, name, value):
    before = getattr(env, name)
    assert getattr(wrapped, name) is before
    setattr(wrapped, name, value)
    assert getattr(wrapped, name) is getattr(Plain(wrapped), name) is value
    assert getattr(env, name) is before


def test_items_58_71_72_others_point_to_the_env(env, wrapped):
    assert wrapped.render_mode == "ansi"
    assert wrapped.np_random is env.np_random
    wrapped.np_random = rng = np.random.default_rng(1)
    assert env.np_random is rng
    assert wrapped.np_random_seed == env.np_random_seed == -1
    wrapped.reset(seed=8)
    assert wrapped.np_random_seed == 8
    assert wrapped.spec is None
    with pytest.raises(AttributeError, match="unwrapped"):
        _ = wrapped._np_random


def test_items_59_60_61_62_the_four_methods_delegate(env, wrapped):
    observation, info = wrapped.reset(seed=1, options={"a": 1})
    assert observation.tolist() == [env.x, 0]
    assert info == {"options": {"a": 1}}
    assert wrapped.step(np.ones(1))[0].tolist() == [env.x, 1]
    assert wrapped.render() == env.render()
    wrapped.close()
    assert env.closed == 1


def test_item_63_wrapper_spec():
    assert Scaled.wrapper_spec(factor=2) == WrapperSpec(
        "Scaled", "tests.unit.envs.toys:Scaled", {"factor": 2}
    )


def test_item_64_get_wrapper_attr_looks_here_then_lower(env, wrapped):
    outer = Scaled(wrapped, factor=2)
    assert outer.get_wrapper_attr("factor") == 2
    assert outer.get_wrapper_attr("goal") == 3.0
    assert outer.get_wrapper_attr("step").__self__ is outer
    assert outer.has_wrapper_attr("goal")
    assert not outer.has_wrapper_attr("nothing")
    with pytest.raises(AttributeError, match="nothing"):
        outer.get_wrapper_attr("nothing")
    with pytest.raises(AttributeError):
        _ = outer.goal  # nothing is forwarded by plain attribute access


def test_item_65_set_wrapper_attr_sets_where_it_is_defined(env, wrapped):
    outer = Scaled(wrapped, factor=2)
    assert outer.set_wrapper_attr("goal", 7.0)
    assert (env.goal, "goal" in vars(outer)) == (7.0, False)
    assert outer.set_wrapper_attr("factor", 3)
    assert outer.factor == 3
    assert not outer.set_wrapper_attr("fresh", 1, force=False)
    assert outer.set_wrapper_attr("fresh", 1)
    assert (outer.fresh, hasattr(env, "fresh")) == (1, False)
    assert not env.set_wrapper_attr("other", 1, force=False)
    assert env.set_wrapper_attr("other", 1)


def test_item_69_spec_holds_the_wrappers():
    env = Plain(Scaled(gym.make("CartPole-v1"), factor=2))
    recorded, unrecorded = env.spec.additional_wrappers
    assert (recorded.name, recorded.kwargs) == ("Scaled", {"factor": 2})
    assert (unrecorded.name, unrecorded.kwargs) == ("Plain", None)
    assert env.unwrapped.spec.additional_wrappers == ()
    assert (env.spec.max_episode_steps, env.spec.order_enforce) == (500, True)
    with pytest.raises(ValueError, match="RecordConstructorArgs"):
        gym.make(env.spec)
    assert str(gym.make(env.env.spec)) == str(env.env)


def test_item_69_a_spec_that_cannot_be_copied_is_none(env):
    class Uncopyable:
        def __deepcopy__(self, memo):
            raise RuntimeError("no copies")

    env.spec = gym.envs.registration.EnvSpec("Walk-v0", kwargs={"x": Uncopyable()})
    with pytest.warns(UserWarning, match="no copies"):
        assert Plain(env).spec is None


def test_item_75_repr_is_the_chain_of_wrappers():
    env = gym.make("Pendulum-v1")
    chain = "<TimeLimit<OrderEnforcing<PassiveEnvChecker<PendulumEnv<Pendulum-v1>>>>>"
    rescaled = RescaleAction(env, 0, 1)
    assert repr(rescaled) == str(rescaled) == f"<RescaleAction{chain}>"
    assert repr(rescaled.env) == chain
    assert ".PendulumEnv object at 0x" in repr(rescaled.unwrapped)
    assert str(Walk()) == "<Walk instance>"


def test_item_76_envs_from_make_are_wrapped():
    layers, layer = [], gym.make("CartPole-v1")
    while layer is not layer.unwrapped:
        layers.append(type(layer).__name__)
        layer = layer.env
    assert layers == ["TimeLimit", "OrderEnforcing", "PassiveEnvChecker"]


def test_item_77_three_purposes_three_bases(env):
    for base, hook in (
        (gym.ActionWrapper, "action"),
        (gym.ObservationWrapper, "observation"),
        (gym.RewardWrapper, "reward"),
    ):
        assert issubclass(base, gym.Wrapper)
        with pytest.raises(NotImplementedError, match=hook):
            getattr(base(env), hook)(None)


class RelativePosition(gym.ObservationWrapper):
    """The documents' example, as written."""

    def __init__(self, env):
        super().__init__(env)
        self.observation_space = Box(shape=(2,), low=-np.inf, high=np.inf)

    def observation(self, obs):
        return obs["target"] - obs["agent"]


def test_items_78_79_80_relative_position():
    env = gym.make("GridWorld-v0")
    relative = RelativePosition(env)
    observation, _ = relative.reset(seed=3)
    unwrapped = env.unwrapped
    assert observation.tolist() == (unwrapped.target - unwrapped.agent).tolist()
    observation, _, _, _, info = relative.step(0)
    assert np.abs(observation).sum() == info["distance"]
    assert relative.observation_space.shape == (2,)
    assert set(env.observation_space) == {"agent", "target"}


def test_item_81_time_aware_observation():
    env = TimeAwareObservation(gym.make("CartPole-v1"))
    for expected in range(2):
        observation = env.step(0)[0] if expected else env.reset(seed=1)[0]
        assert observation[-1] == expected
    assert env.observation_space.high[-1] == 500
    assert env.observation_space.dtype == np.float64


class ClipReward(gym.RewardWrapper):
    """The documents' example, as written."""

    def __init__(self, env, min_reward, max_reward):
        super().__init__(env)
        self.min_reward = min_reward
        self.max_reward = max_reward
        self.reward_range = (min_reward, max_reward)

    def reward(self, reward):
        return np.clip(reward, self.min_reward, self.max_reward)


def test_items_82_83_84_clip_reward():
    env = ClipReward(gym.make("Pendulum-v1"), -1.0, -0.5)
    env.reset(seed=1)
    rewards = [env.step(np.zeros(1, np.float32))[1] for _ in range(50)]
    assert {-1.0, -0.5} >= {min(rewards), max(rewards)}
    assert env.reward_range == (-1.0, -0.5)
    assert env.env.reward_range == (-np.inf, np.inf)
    assert gym.wrappers.ClipReward(Walk(), max_reward=2).reward_range == (-np.inf, 2.0)


class DiscreteActions(gym.ActionWrapper):
    """The documents' example, as written."""

    def __init__(self, env, disc_to_cont):
        super().__init__(env)
        self.disc_to_cont = disc_to_cont
        self.action_space = Discrete(len(disc_to_cont))

    def action(self, act):
        return self.disc_to_cont[act]


def test_items_85_86_87_discrete_actions(capsys):
    env = gym.make("MountainCarContinuous-v0")
    wrapped_env = DiscreteActions(env, [np.array([n], np.float32) for n in (1, -1, 0.5, 0)])
    print(wrapped_env.action_space)
    assert capsys.readouterr().out == "Discrete(4)\n"
    wrapped_env.reset(seed=1)
    assert wrapped_env.step(1)[1] == -0.1
    assert wrapped_env.step(3)[1] == 0.0
    assert isinstance(env.action_space, Box)


def test_item_88_clip_action_takes_everything():
    env = ClipAction(gym.make("Pendulum-v1"))
    assert repr(env.action_space) == "Box(-inf, inf, (1,), float32)"
    env.reset(seed=1)
    env.step(np.array([70.0], np.float32))
    assert env.unwrapped.last_u == 2.0


def test_item_89_rescale_action():
    base_env = OrderEnforcing(Walk())
    assert repr(base_env.action_space) == "Box(-1.0, 1.0, (1,), float32)"
    wrapped_env = RescaleAction(base_env, min_action=0, max_action=1)
    assert repr(wrapped_env.action_space) == "Box(0.0, 1.0, (1,), float32)"
    wrapped_env.reset(seed=1)
    start = wrapped_env.unwrapped.x
    wrapped_env.step(np.array([0.0], np.float32))
    assert wrapped_env.unwrapped.x == start - 1
    with pytest.raises(gym.error.InvalidBound):
        RescaleAction(base_env, 1, 1)
