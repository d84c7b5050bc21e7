"""Items 90 to 107 of the API: making environments, and what the documents' indexes name."""

import numpy as np
import pytest

import envwire.envs as gym
from envwire.envs import spaces, vector
from envwire.envs.envs.registration import EnvSpec, WrapperSpec
from envwire.envs.error import NameNotFound, UnregisteredEnv
from envwire.envs.utils.env_checker import check_env
from envwire.envs.utils.step_api_compatibility import step_api_compatibility
from envwire.envs.wrappers import RecordEpisodeStatistics, RenderCollection, TimeLimit
from tests.unit.envs.toys import BUILT_IN_IDS, Walk, empty_registry


@pytest.fixture
def registered():
    """A registry of its own, with Walk-v0."""
    with empty_registry():
        gym.register("Walk-v0", entry_point="tests.unit.envs.toys:Walk", max_episode_steps=5)
        yield


@pytest.mark.usefixtures("registered")
def test_item_90_make_initialises_and_wraps():
    env = gym.make("Walk-v0", goal=9.0, max_episode_steps=2)
    assert str(env) == "<TimeLimit<OrderEnforcing<PassiveEnvChecker<Walk<Walk-v0>>>>>"
    assert (env.unwrapped.goal, env.spec.kwargs) == (9.0, {"goal": 9.0})
    bare = gym.make("Walk-v0", max_episode_steps=-1, disable_env_checker=True)
    assert str(bare) == "<OrderEnforcing<Walk<Walk-v0>>>"
    for removed in ("autoreset", "apply_api_compatibility"):
        with pytest.raises(TypeError, match=removed):
            gym.make("Walk-v0", **{removed: True})


@pytest.mark.usefixtures("registered")
def test_item_91_make_vec():
    envs = gym.make_vec("Walk-v0", num_envs=3, wrappers=[lambda env: TimeLimit(env, 4)], goal=2.0)
    assert isinstance(envs, vector.SyncVectorEnv)
    assert envs.get_attr("goal") == (2.0, 2.0, 2.0)
    observations, _ = envs.reset(seed=1)
    assert observations.shape == (3, 2)
    again = gym.make_vec(envs.spec)
    assert (str(again), again.num_envs) == (str(envs), 3)


@pytest.mark.usefixtures("registered")
def test_item_92_pprint_registry(capsys):
    gym.register("toys/Walk-v3", entry_point=Walk)
    text = gym.pprint_registry(disable_print=True)
    assert text == "===== envs =====\nWalk-v0\n===== toys =====\ntoys/Walk-v3"
    assert gym.pprint_registry(exclude_namespaces=["envs"]) is None
    assert capsys.readouterr().out == "===== toys =====\ntoys/Walk-v3\n"


@pytest.mark.usefixtures("registered")
def test_item_93_specs_are_data():
    spec = gym.spec("Walk-v0")
    assert (spec.namespace, spec.name, spec.version) == (None, "Walk", 0)
    scaled = WrapperSpec("Scaled", "tests.unit.envs.toys:Scaled", {"factor": 2})
    spec = EnvSpec(**{**vars_of(spec), "additional_wrappers": (scaled,)})
    assert EnvSpec.from_json(spec.to_json()) == spec
    env = spec.make()
    assert env.spec == spec
    assert env.factor == 2


def vars_of(spec):
    derived = {"namespace", "name", "version"}
    return {key: value for key, value in vars(spec).items() if key not in derived}


def test_item_95_spaces_fundamental_composite_and_utilities():
    fundamental = (spaces.Box(0, 1), spaces.Discrete(2), spaces.MultiBinary(2), spaces.Text(3))
    composite = spaces.Dict(a=spaces.Tuple(fundamental[:3]), b=spaces.MultiDiscrete([2, 3]))
    sample = (composite.seed(1), composite.sample())[1]
    flat = spaces.flatten(composite, sample)
    assert flat in spaces.flatten_space(composite)
    assert flat.shape == (spaces.flatdim(composite),)


def test_item_96_wrappers_of_every_group_load_by_name():
    for name in set(gym.wrappers.__all__) - {"vector"}:
        wrapper = getattr(gym.wrappers, name)
        assert issubclass(wrapper, gym.Wrapper)
        assert wrapper.__name__ == name
    assert set(gym.wrappers.__all__) <= set(dir(gym.wrappers))
    with pytest.raises(AttributeError, match="NoSuchWrapper"):
        _ = gym.wrappers.NoSuchWrapper
    with pytest.raises(AttributeError, match="FrameStackObservation"):
        _ = gym.wrappers.FrameStack


def test_item_97_vectorised_envs():
    envs = vector.SyncVectorEnv([Walk, Walk])
    assert isinstance(vector.VectorWrapper(envs), vector.VectorEnv)
    assert vector.utils.batch_space(spaces.Discrete(2), 2) == spaces.MultiDiscrete([2, 2])
    assert issubclass(vector.AsyncVectorEnv, vector.VectorEnv)


def test_item_98_a_functional_env_is_pure_functions_behind_an_env():
    def initial(rng):
        return rng.integers(3)

    def transition(state, action):
        return state + action

    class Functional(gym.Env):
        action_space, observation_space = spaces.Discrete(2), spaces.Discrete(9)

        def reset(self, *, seed=None, options=None):
            super().reset(seed=seed)
            self.state = initial(self.np_random)
            return self.state, {}

        def step(self, action):
            self.state = transition(self.state, action)
            return self.state, 0.0, bool(self.state == 8), False, {}

    env = Functional()
    start, _ = env.reset(seed=1)
    assert env.step(1)[0] == start + 1


@pytest.mark.parametrize("env_id", BUILT_IN_IDS)
def test_items_99_101_classic_control_and_toy_text(env_id):
    group = gym.spec(env_id).entry_point.split(".")[3]
    assert group == ("toy_text" if env_id.startswith(("Frozen", "Grid")) else "classic_control")
    assert gym.make(env_id).unwrapped.spec.id == env_id


@pytest.mark.parametrize("env_id", ["LunarLander-v3", "Hopper-v5", "ALE/Pong-v5"])
def test_items_100_102_103_others_are_hosted_guests(env_id):
    with pytest.raises(UnregisteredEnv):
        gym.make(env_id)


@pytest.mark.usefixtures("registered")
def test_item_104_external_envs_register_by_name():
    with pytest.raises(NameNotFound):
        gym.make("tests.unit.envs.toys:NoSuch-v0")
    with pytest.raises(ModuleNotFoundError, match="installed"):
        gym.make("no_such_module:Walk-v0")
    assert gym.make("tests.unit.envs.toys:Walk-v0").unwrapped.goal == 3.0


def test_items_105_106_a_custom_env_is_checked_limited_recorded_and_sped_up():
    with pytest.warns(UserWarning, match="infinity|spec"):
        check_env(Walk(), skip_render_check=True)
    env = RecordEpisodeStatistics(TimeLimit(RenderCollection(Walk("rgb_array")), 3))
    env.reset(seed=1)
    ends = [env.step(np.ones(1))[3:] for _ in range(3)]
    truncated, info = ends[-1]
    assert truncated
    assert info["episode"]["l"] == 3
    assert len(env.render()) == 4
    assert gym.make_vec("CartPole-v1", 8).reset(seed=1)[0].shape == (8, 4)
    assert step_api_compatibility((0, 1.0, True, {}))[2:4] == (True, False)


def test_item_105_q_learning_crosses_the_frozen_lake():
    env = gym.make("FrozenLake-v1", is_slippery=False)
    values = np.zeros((16, 4))
    rng = np.random.default_rng(0)
    state, _ = env.reset(seed=0)
    for _ in range(5000):
        action = rng.integers(4)
        after, reward, terminated, truncated, _ = env.step(action)
        values[state, action] = reward + 0.9 * values[after].max() * (not terminated)
        state = env.reset()[0] if terminated or truncated else after
    state, _ = env.reset()
    path = [state := env.step(int(values[state].argmax()))[0] for _ in range(6)]
    assert path[-1] == 15


def test_item_107_every_call_returns_new_objects():
    for env_id in BUILT_IN_IDS:
        env = gym.make(env_id, disable_env_checker=True)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(gym.logger, "min_level", gym.logger.ERROR)
            check_env(env.unwrapped)

    class Reusing(Walk):
        info: dict = {}

        def step(self, action):
            return *super().step(action)[:4], self.info

    with (
        pytest.warns(UserWarning, match="infinity"),
        pytest.raises(AssertionError, match="share an object"),
    ):
        check_env(Reusing())
