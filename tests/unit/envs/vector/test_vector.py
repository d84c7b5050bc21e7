"""Vector environments beside Gymnasium's."""

import gymnasium
import numpy as np
import pytest

import envwire.envs
from envwire.envs import vector
from envwire.envs.vector import AutoresetMode
from envwire.envs.vector.vector_env import add_info
from envwire.testing.comparing import identical as same
from tests.unit.envs.toys import SHARED_IDS, Walk

LIBRARIES = (envwire.envs, gymnasium)
MODES = ("NextStep", "SameStep", "Disabled")


def chatty(gym, number=0, limit=3):
    """An env with infos of every kind, of either library."""

    class Chatty(gym.Env):
        action_space = gym.spaces.Discrete(5)
        observation_space = gym.spaces.Dict(
            a=gym.spaces.Box(0, 99, (2,), np.int32), b=gym.spaces.Tuple((gym.spaces.Discrete(99),))
        )

        def observe(self):
            observation = {"a": np.full(2, self.t, np.int32), "b": (number,)}
            info = {
                "int": self.t, "float": 0.5, "bool": True, "f32": np.float32(2), "text": "x",
                "array": np.arange(2) + self.t, "nested": {"deep": {"n": number}}, "npbool": np.True_,
                "list": [self.t],
            }  # fmt: skip
            if number != self.t:
                info["rare"] = number
            return observation, info

        def reset(self, *, seed=None, options=None):
            super().reset(seed=seed)
            self.t = 0
            observation, info = self.observe()
            return observation, {**info, "seed": self.np_random_seed if seed else -1, "o": options}

        def step(self, action):
            self.t += 1
            observation, info = self.observe()
            return observation, float(action), self.t == limit, self.t == 5, info

    return Chatty()


def sync(gym, mode, **kwargs):
    fns = [lambda n=n: chatty(gym, n, limit=n + 2) for n in range(3)]
    return gym.vector.SyncVectorEnv(fns, autoreset_mode=mode, **kwargs)


@pytest.mark.parametrize("mode", MODES)
def test_every_autoreset_mode_is_the_same(mode):
    ours, theirs = (sync(gym, mode) for gym in LIBRARIES)
    assert same(ours.reset(seed=4), theirs.reset(seed=4))
    rng = np.random.default_rng(0)
    for _ in range(20):
        actions = rng.integers(5, size=3)
        result = ours.step(actions)
        assert same(result, theirs.step(actions)), result
        done = result[2] | result[3]
        if mode == "Disabled" and done.any():
            with pytest.raises(AssertionError):
                theirs.step(actions)
            with pytest.raises(AssertionError, match="reset_mask"):
                ours.step(actions)
            options = {"reset_mask": done, "other": 1}
            mine, other = dict(options), dict(options)
            assert same(ours.reset(options=mine), theirs.reset(options=other))
            assert mine == other == {"other": 1}


@pytest.mark.parametrize("env_id", SHARED_IDS)
def test_vectors_of_the_built_in_envs_are_the_same(env_id):
    ours, theirs = (
        gym.make_vec(env_id, num_envs=3, vectorization_mode="sync") for gym in LIBRARIES
    )
    assert same(ours.reset(seed=4), theirs.reset(seed=4))
    ours.action_space.seed(4)
    for _ in range(150):
        actions = ours.action_space.sample()
        assert same(ours.step(actions), theirs.step(actions))


@pytest.mark.parametrize(
    ("seed", "options"), [(None, None), (5, {}), ([1, None, 3], {"a": 1}), (5, [])]
)
def test_seeds_and_options_are_spread_alike(seed, options):
    infos = [sync(gym, "NextStep").reset(seed=seed, options=options)[1] for gym in LIBRARIES]
    assert same(*infos)


@pytest.mark.parametrize(
    ("seed", "options"),
    [
        ([1, 2], None),
        (None, {"reset_mask": [True, False, True]}),
        (None, {"reset_mask": np.array([True, False])}),
        (None, {"reset_mask": np.array([1, 0, 1])}),
        (None, {"reset_mask": np.zeros(3, np.bool_)}),
    ],
)
def test_bad_resets_raise_alike(seed, options):
    raised = []
    for gym in LIBRARIES:
        with pytest.raises((ValueError, TypeError)) as info:
            sync(gym, "Disabled").reset(seed=seed, options=options and dict(options))
        raised.append(info.type)
    assert raised[0] is raised[1]


def boxes(gym, *highs, dtype=np.float32, actions=2):
    class BoxEnv(gym.Env):
        def __init__(self, high, actions):
            self.observation_space = gym.spaces.Box(0, high, (1,), dtype)
            self.action_space = gym.spaces.Discrete(actions)

        def reset(self, *, seed=None, options=None):
            return self.observation_space.high, {}

    counts = actions if isinstance(actions, list) else [actions] * len(highs)
    return [lambda h=h, n=n: BoxEnv(h, n) for h, n in zip(highs, counts, strict=True)]


@pytest.mark.parametrize(
    ("fns", "kwargs"),
    [
        (lambda gym: boxes(gym, 1, 2), {}),
        (lambda gym: boxes(gym, 1, 1, actions=[2, 3]), {}),
        (lambda gym: boxes(gym, 1, 1), {"observation_mode": "nonsense"}),
        (lambda gym: boxes(gym, 1, 1), {"observation_mode": (1, 2)}),
        (lambda gym: boxes(gym, 1, 1), {"autoreset_mode": "nonsense"}),
        (lambda gym: boxes(gym, 1) + boxes(gym, 1, dtype=np.float64),
         {"observation_mode": "different"}),
    ],
)  # fmt: skip
def test_what_does_not_go_together_raises_alike(fns, kwargs):
    raised = []
    for gym in LIBRARIES:
        with pytest.raises(Exception) as info:  # noqa: PT011
            gym.vector.SyncVectorEnv(fns(gym), **kwargs)
        raised.append(info.type.__name__)
    assert raised[0] == raised[1]


def test_observation_modes_are_the_same():
    for mode in ("different", "custom"):
        reprs, resets = [], []
        for gym in LIBRARIES:
            box = gym.spaces.Box
            custom = box(0, 9, (2, 1)), box(0, 9, (1,))
            kwargs = {"observation_mode": custom if mode == "custom" else mode}
            envs = gym.vector.SyncVectorEnv(boxes(gym, 1, 2), **kwargs)
            reprs.append((repr(envs.observation_space), repr(envs.single_observation_space)))
            resets.append(envs.reset())
        assert reprs[0] == reprs[1]
        assert same(*resets)


@pytest.mark.parametrize("copy", [True, False])
def test_observations_are_fresh_unless_told_otherwise(copy):
    for fns in ([Walk, Walk], [lambda: chatty(envwire.envs)] * 2):
        envs = vector.SyncVectorEnv(fns, copy=copy)
        first, _ = envs.reset(seed=1)
        second, _ = envs.reset(seed=2)
        leaf = first["a"] if isinstance(first, dict) else first
        other = second["a"] if isinstance(second, dict) else second
        assert np.shares_memory(leaf, other) is not copy


def test_attributes_and_methods_of_the_copies():
    envs = vector.SyncVectorEnv([Walk, Walk])
    envs.reset(seed=3)
    assert envs.np_random_seed == envs.get_attr("np_random_seed") == (3, 4)
    assert envs.np_random[1] is envs.envs[1].np_random
    assert envs.call("set_wrapper_attr", "goal", 5.0) == (True, True)
    envs.set_attr("goal", [1.0, 2.0])
    assert envs.get_attr("goal") == (1.0, 2.0)
    envs.set_attr("goal", 7.0)
    assert envs.call("goal") == (7.0, 7.0)
    with pytest.raises(ValueError, match="2 values"):
        envs.set_attr("goal", [1.0])


def test_render_and_close_reach_every_copy():
    envs = vector.SyncVectorEnv([lambda: Walk("ansi"), lambda: Walk("ansi")])
    envs.reset(seed=3)
    assert len(envs.render()) == 2
    assert envs.metadata["render_modes"] == Walk.metadata["render_modes"]
    assert "autoreset_mode" not in Walk.metadata
    envs.close()
    envs.close()
    assert [env.closed for env in envs.envs] == [1, 1]
    assert envs.closed


def test_add_info_is_gymnasiums():
    class Three(gymnasium.vector.VectorEnv):
        num_envs = 3

    infos = [
        (0, {"a": 1, "d": {"x": 1.5}, "final_obs": np.zeros(2)}),
        (2, {"a": 4, "s": "text", 5: 3, "e": {}}),
        (1, {"d": {"x": 2.5, "y": None}, "a": 2.9, "big": np.ones((2, 2), np.int8)}),
    ]
    ours, theirs = {}, {}
    for index, info in infos:
        ours = add_info(ours, info, index, 3)
        theirs = Three()._add_info(theirs, info, index)
    ours_final, theirs_final = ours.pop("final_obs"), theirs.pop("final_obs")
    assert same(list(ours_final), list(theirs_final))
    assert list(ours) == list(theirs)
    for key in ours.keys() - {"s", "d"}:
        assert same(ours[key], theirs[key])
    assert ours["s"].tolist() == theirs["s"].tolist()
    assert same(ours["d"]["x"], theirs["d"]["x"])


class Doubled(vector.VectorObservationWrapper):
    def observations(self, observations):
        return 2 * observations


class Flipped(vector.VectorActionWrapper):
    def actions(self, actions):
        return -actions


class Halved(vector.VectorRewardWrapper):
    def rewards(self, rewards):
        return rewards / 2


def test_vector_wrappers_change_what_passes_through():
    plain, wrapped = (vector.SyncVectorEnv([Walk, Walk]) for _ in range(2))
    wrapped = Halved(Flipped(Doubled(wrapped)))
    assert str(wrapped) == "<Halved, <Flipped, <Doubled, SyncVectorEnv(num_envs=2)>>>"
    assert np.array_equal(wrapped.reset(seed=1)[0], 2 * plain.reset(seed=1)[0])
    actions = np.ones((2, 1), np.float32)
    ours, theirs = wrapped.step(actions), plain.step(-actions)
    assert np.array_equal(ours[0], 2 * theirs[0])
    assert np.array_equal(ours[1], theirs[1] / 2)
    assert same(ours[2:], theirs[2:])


def test_a_vector_wrapper_forwards_and_may_have_its_own():
    envs = vector.SyncVectorEnv([lambda: Walk("ansi")])
    wrapper = vector.VectorWrapper(envs)
    for name in ("observation_space", "action_space", "single_observation_space",
                 "single_action_space", "metadata"):  # fmt: skip
        assert getattr(wrapper, name) is getattr(envs, name)
        own = {"own": 1} if name == "metadata" else envwire.envs.spaces.Discrete(7)
        setattr(wrapper, name, own)
        assert getattr(wrapper, name) is own
        assert getattr(envs, name) is not own
    assert (wrapper.num_envs, wrapper.render_mode, wrapper.spec) == (1, "ansi", None)
    assert wrapper.unwrapped is vector.VectorWrapper(wrapper).unwrapped is envs
    for name in ("num_envs", "render_mode", "spec", "unwrapped", "np_random_seed"):
        with pytest.raises(AttributeError):
            setattr(wrapper, name, None)
    wrapper.reset(seed=1)
    assert wrapper.np_random_seed == (1,)
    assert wrapper.np_random == envs.np_random
    assert wrapper.render() == envs.render()
    wrapper.close()
    assert wrapper.closed
    assert envs.closed
    with pytest.raises(TypeError, match="VectorEnv"):
        vector.VectorWrapper(Walk())


def test_observation_wrappers_refuse_same_step_resets():
    with pytest.raises(ValueError, match="NEXT_STEP"):
        Doubled(vector.SyncVectorEnv([Walk], autoreset_mode=AutoresetMode.SAME_STEP))
    envs = vector.SyncVectorEnv([Walk])
    envs.metadata = {}
    with pytest.warns(UserWarning, match="autoreset_mode"):
        Doubled(envs)


def test_the_base_class_asks_for_overrides_and_seeds():
    class Two(vector.VectorEnv):
        num_envs = 2

    envs = Two()
    assert repr(envs) == "Two(num_envs=2)"
    for call in (lambda: envs.step(None), envs.render):
        with pytest.raises(NotImplementedError, match="Two"):
            call()
    for wrapper, hook in (
        (vector.VectorActionWrapper, "actions"),
        (vector.VectorRewardWrapper, "rewards"),
    ):
        with pytest.raises(NotImplementedError, match=hook):
            getattr(wrapper(envs), hook)(None)
    assert envs.np_random_seed > 0
    envs.reset(seed=6)
    assert envs.np_random_seed == 6
    envs.np_random = np.random.default_rng(1)
    assert envs.np_random_seed == -1
    assert Two().np_random.random() != Two().np_random.random()
