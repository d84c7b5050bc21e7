"""Every wrapper beside Gymnasium's of the same name, in lock step: nothing may differ."""

import gymnasium
import numpy as np
import pytest

import envwire.envs
from envwire.testing.comparing import identical as same
from tests.unit.envs.toys import SHARED_IDS

CARTPOLE, PENDULUM, LAKE, CAR = "CartPole-v1", "Pendulum-v1", "FrozenLake-v1", "MountainCar-v0"
HALVES = np.array([-0.5], np.float32)

#: (env id, wrapper, kwargs). Values are functions of the library where they are its objects.
CASES = [
    (CARTPOLE, "TimeLimit", {"max_episode_steps": 7}),
    (CARTPOLE, "Autoreset", {}),
    (LAKE, "Autoreset", {}),
    (CARTPOLE, "OrderEnforcing", {"disable_render_order_enforcing": True}),
    (CARTPOLE, "PassiveEnvChecker", {}),
    (PENDULUM, "ClipAction", {}),
    (PENDULUM, "RescaleAction", {"min_action": -1, "max_action": 1}),
    (PENDULUM, "RescaleAction", {"min_action": HALVES, "max_action": np.array([3.0])}),
    (PENDULUM, "DiscretizeAction", {"bins": 5}),
    (PENDULUM, "DiscretizeAction", {"bins": (4,), "multidiscrete": True}),
    (PENDULUM, "TransformAction", {"func": lambda u: u / 2, "action_space": None}),
    (CARTPOLE, "StickyAction", {"repeat_action_probability": 0.6}),
    (CAR, "StickyAction", {"repeat_action_probability": 0.3, "repeat_action_duration": (2, 4)}),
    (CARTPOLE, "RepeatAction", {"num_repeats": 3}),
    (PENDULUM, "ClipReward", {"min_reward": -3.0, "max_reward": -1}),
    (LAKE, "ClipReward", {"max_reward": 0.5}),
    (CARTPOLE, "TransformReward", {"func": lambda reward: 2 * reward}),
    (PENDULUM, "NormalizeReward", {}),
    (LAKE, "NormalizeReward", {"gamma": 0.5, "epsilon": 0.1}),
    (CARTPOLE, "DelayObservation", {"delay": 2}),
    (LAKE, "DelayObservation", {"delay": 1}),
    (CARTPOLE, "TimeAwareObservation", {}),
    (LAKE, "TimeAwareObservation", {"normalize_time": True}),
    (CAR, "TimeAwareObservation", {"flatten": False}),
    (CARTPOLE, "FrameStackObservation", {"stack_size": 3}),
    (LAKE, "FrameStackObservation", {"stack_size": 2, "padding_type": "zero"}),
    (LAKE, "FrameStackObservation", {"stack_size": 4, "padding_type": 3}),
    (CARTPOLE, "MaxAndSkipObservation", {}),
    (PENDULUM, "MaxAndSkipObservation", {"skip": 2}),
    (CARTPOLE, "NormalizeObservation", {}),
    (LAKE, "NormalizeObservation", {"epsilon": 0.5}),
    (CARTPOLE, "DtypeObservation", {"dtype": np.float16}),
    (LAKE, "DtypeObservation", {"dtype": np.uint8}),
    (LAKE, "FlattenObservation", {}),
    (PENDULUM, "FlattenObservation", {}),
    (CARTPOLE, "ReshapeObservation", {"shape": (2, 2)}),
    (PENDULUM, "RescaleObservation", {"min_obs": 0, "max_obs": 1}),
    (CAR, "RescaleObservation", {"min_obs": np.array([-3, 0]), "max_obs": np.array([3, 0.1])}),
    (PENDULUM, "DiscretizeObservation", {"bins": 4}),
    (CAR, "DiscretizeObservation", {"bins": (3, 5), "multidiscrete": True}),
    (CARTPOLE, "TransformObservation", {"func": np.sin, "observation_space": None}),
]


def ids(cases):
    return [f"{wrapper}-{env_id}-{n}" for n, (env_id, wrapper, _) in enumerate(cases)]


def pair(env_id, wrapper, kwargs):
    """The wrapped env of both libraries."""
    for gym in (envwire.envs, gymnasium):
        env = gym.make(env_id, disable_env_checker=True)
        yield getattr(gym.wrappers, wrapper)(env, **kwargs)


def assert_same_rollout(ours, theirs, steps=120, seed=3):
    """Steps both with the same actions, and resets both at the end of an episode."""
    assert same(ours.reset(seed=seed), theirs.reset(seed=seed))
    ours.action_space.seed(seed)
    theirs.action_space.seed(seed)
    for _ in range(steps):
        action = ours.action_space.sample()
        assert same(action, theirs.action_space.sample())
        result = ours.step(action)
        assert same(result, theirs.step(action)), result
        if result[2] or result[3]:
            assert same(ours.reset(), theirs.reset())


@pytest.mark.filterwarnings("ignore:.*precision lowered")
@pytest.mark.parametrize(("env_id", "wrapper", "kwargs"), CASES, ids=ids(CASES))
def test_rollouts_spaces_and_specs_are_the_same(env_id, wrapper, kwargs):
    ours, theirs = pair(env_id, wrapper, kwargs)
    assert str(ours) == str(theirs)
    assert repr(ours.action_space) == repr(theirs.action_space)
    assert repr(ours.observation_space) == repr(theirs.observation_space)
    assert_same_rollout(ours, theirs)
    recorded = [
        [(spec.name, repr(spec.kwargs)) for spec in env.spec.additional_wrappers]
        for env in (ours, theirs)
    ]
    assert recorded[0] == recorded[1]


@pytest.mark.parametrize("env_id", SHARED_IDS)
def test_wrappers_pile_up(env_id):
    rollouts = []
    for gym in (envwire.envs, gymnasium):
        env = gym.make(env_id, disable_env_checker=True)
        env = gym.wrappers.RecordEpisodeStatistics(env)
        env = gym.wrappers.StickyAction(env, 0.25)
        env = gym.wrappers.FlattenObservation(env)
        env = gym.wrappers.FrameStackObservation(env, 2)
        env = gym.wrappers.NormalizeObservation(env)
        env = gym.wrappers.NormalizeReward(env)
        rollouts.append(gym.wrappers.TimeAwareObservation(env, flatten=False))
    ours, theirs = rollouts
    assert same(ours.reset(seed=1), theirs.reset(seed=1))
    ours.action_space.seed(1)
    for _ in range(250):
        action = ours.action_space.sample()
        mine, other = ours.step(action), theirs.step(action)
        for result in (mine, other):  # how long an episode took may differ
            result[4].get("episode", {}).pop("t", None)
        assert same(mine, other)
        if mine[2] or mine[3]:
            assert same(ours.reset(), theirs.reset())


#: Arguments that a wrapper refuses, whatever the environment underneath.
REFUSED = [
    (CARTPOLE, "TimeLimit", {"max_episode_steps": 1.5}),
    (CARTPOLE, "TimeLimit", {"max_episode_steps": 0}),
    (CARTPOLE, "ClipAction", {}),
    (CARTPOLE, "RescaleAction", {"min_action": 0, "max_action": 1}),
    (PENDULUM, "RescaleAction", {"min_action": 1, "max_action": 1}),
    (PENDULUM, "RescaleAction", {"min_action": 2, "max_action": 1}),
    (PENDULUM, "RescaleAction", {"min_action": "0", "max_action": 1}),
    (PENDULUM, "RescaleAction", {"min_action": np.zeros(2), "max_action": 1}),
    (PENDULUM, "RescaleAction", {"min_action": -np.inf, "max_action": 1}),
    (CARTPOLE, "DiscretizeAction", {"bins": 3}),
    (PENDULUM, "DiscretizeAction", {"bins": (3, 3)}),
    (CARTPOLE, "StickyAction", {"repeat_action_probability": 1.0}),
    (CARTPOLE, "StickyAction", {"repeat_action_probability": 0.5, "repeat_action_duration": 0}),
    (
        CARTPOLE,
        "StickyAction",
        {"repeat_action_probability": 0.5, "repeat_action_duration": (3, 1)},
    ),
    (CARTPOLE, "StickyAction", {"repeat_action_probability": 0.5, "repeat_action_duration": (1,)}),
    (CARTPOLE, "StickyAction", {"repeat_action_probability": 0.5, "repeat_action_duration": "2"}),
    (CARTPOLE, "RepeatAction", {"num_repeats": 0}),
    (CARTPOLE, "RepeatAction", {"num_repeats": 2.0}),
    (CARTPOLE, "ClipReward", {}),
    (CARTPOLE, "ClipReward", {"min_reward": 1, "max_reward": 0}),
    (CARTPOLE, "NormalizeReward", {"gamma": 1.5}),
    (CARTPOLE, "NormalizeReward", {"epsilon": 0}),
    (CARTPOLE, "NormalizeObservation", {"epsilon": -1}),
    (CARTPOLE, "DelayObservation", {"delay": -1}),
    (CARTPOLE, "DelayObservation", {"delay": 1.0}),
    (CARTPOLE, "FrameStackObservation", {"stack_size": 0}),
    (CARTPOLE, "FrameStackObservation", {"stack_size": 1.0}),
    (CARTPOLE, "FrameStackObservation", {"stack_size": 2, "padding_type": "ones"}),
    (LAKE, "FrameStackObservation", {"stack_size": 2, "padding_type": 99}),
    (CARTPOLE, "MaxAndSkipObservation", {"skip": 1}),
    (CARTPOLE, "MaxAndSkipObservation", {"skip": 2.0}),
    (LAKE, "ReshapeObservation", {"shape": (1,)}),
    (CARTPOLE, "ReshapeObservation", {"shape": (3,)}),
    (CARTPOLE, "ReshapeObservation", {"shape": 4}),
    (CARTPOLE, "ReshapeObservation", {"shape": (4.0,)}),
    (CARTPOLE, "ReshapeObservation", {"shape": (-2, -2)}),
    (LAKE, "RescaleObservation", {"min_obs": 0, "max_obs": 1}),
    (CARTPOLE, "RescaleObservation", {"min_obs": 0, "max_obs": 1}),
    (CARTPOLE, "FilterObservation", {"filter_keys": ["a"]}),
    (CARTPOLE, "FilterObservation", {"filter_keys": 3}),
    (CARTPOLE, "GrayscaleObservation", {}),
    (LAKE, "GrayscaleObservation", {}),
    (CARTPOLE, "DiscretizeObservation", {"bins": 3}),
    (LAKE, "DiscretizeObservation", {"bins": 3}),
    (CAR, "DiscretizeObservation", {"bins": (3,)}),
    (CARTPOLE, "AddRenderObservation", {}),
    (CARTPOLE, "RenderCollection", {}),
    (CARTPOLE, "HumanRendering", {}),
    (CARTPOLE, "AddWhiteNoise", {"probability_of_noise_per_pixel": 1.0}),
    (CARTPOLE, "ObstructView", {"obstructed_pixels_ratio": 1.0, "obstruction_width": 1}),
    (CARTPOLE, "ObstructView", {"obstructed_pixels_ratio": 0.1, "obstruction_width": 0}),
]


@pytest.mark.parametrize(("env_id", "wrapper", "kwargs"), REFUSED, ids=ids(REFUSED))
def test_bad_arguments_raise_the_same_class(env_id, wrapper, kwargs):
    raised = []
    for gym in (envwire.envs, gymnasium):
        env = gym.make(env_id, disable_env_checker=True)
        with pytest.raises(Exception) as info:  # noqa: PT011
            getattr(gym.wrappers, wrapper)(env, **kwargs)
        raised.append(info.type.__name__)
    assert raised[0] == raised[1]


@pytest.mark.parametrize("gym", [envwire.envs, gymnasium])
def test_a_box_whose_limits_were_assigned_in_the_wrong_order_is_refused(gym):
    env = gym.make(PENDULUM, disable_env_checker=True)
    env.action_space.low[:] = 3
    with pytest.raises(ValueError, match="low"):
        gym.wrappers.RescaleAction(env, min_action=-1, max_action=1)


class Zoo:
    """The same env with awkward observations, of either library."""

    SPACES = {
        "image": lambda s: s.Box(0, 255, (6, 5, 3), np.uint8),
        "float image": lambda s: s.Box(0, 255, (6, 5, 3), np.float32),
        "bits": lambda s: s.MultiBinary(3),
        "dict": lambda s: s.Dict(
            b=s.Discrete(3, start=2), a=s.Box(-1, 1, (2,)), c=s.MultiBinary(3)
        ),
        "unsorted": lambda s: s.Dict({"z": s.Discrete(3), "a": s.Discrete(2)}, sort_keys=False),
        "tuple": lambda s: s.Tuple((s.MultiDiscrete([2, 3]), s.Text(4, min_length=2))),
        "sequence": lambda s: s.Sequence(s.Box(0, 1, (2,))),
        "stacked": lambda s: s.Sequence(s.Box(1, 2, (2,)), stack=True),
        "oneof": lambda s: s.OneOf((s.Discrete(3), s.Box(2, 3, (1,)))),
        "multidiscrete": lambda s: s.MultiDiscrete([[2, 3], [4, 5]], start=[[1, 1], [0, 2]]),
        "half": lambda s: s.Box(
            np.array([-np.inf, 0.0]), np.array([4.0, np.inf]), dtype=np.float64
        ),
    }

    @classmethod
    def make(cls, gym, name):
        class ZooEnv(gym.Env):
            metadata = {"render_modes": ["rgb_array"], "render_fps": 9}
            render_mode = "rgb_array"
            action_space = gym.spaces.Discrete(4)
            observation_space = cls.SPACES[name](gym.spaces)

            def reset(self, *, seed=None, options=None):
                super().reset(seed=seed)
                if seed is not None:
                    self.observation_space.seed(seed)
                self.t = 0
                return self.observation_space.sample(), {}

            def step(self, action):
                self.t += 1
                return self.observation_space.sample(), 0.5 * action, self.t == 9, False, {}

            def render(self):
                return np.full((7, 8, 3), 20 * self.t, np.uint8)

        return ZooEnv()


ZOO_CASES = [
    ("image", "GrayscaleObservation", {}),
    ("image", "GrayscaleObservation", {"keep_dim": True}),
    ("image", "FrameStackObservation", {"stack_size": 3}),
    ("image", "AddRenderObservation", {}),
    ("image", "AddRenderObservation", {"render_only": False, "obs_key": "seen"}),
    ("dict", "AddRenderObservation", {"render_only": False, "render_key": "frame"}),
    ("dict", "FilterObservation", {"filter_keys": ["c", "a"]}),
    ("unsorted", "FilterObservation", {"filter_keys": ["z", "a"]}),
    ("tuple", "FilterObservation", {"filter_keys": [1]}),
    ("tuple", "FilterObservation", {"filter_keys": [-1, 0]}),
    ("dict", "FlattenObservation", {}),
    ("unsorted", "FlattenObservation", {}),
    ("tuple", "FlattenObservation", {}),
    ("sequence", "FlattenObservation", {}),
    ("dict", "FrameStackObservation", {"stack_size": 2, "padding_type": "zero"}),
    ("tuple", "FrameStackObservation", {"stack_size": 2}),
    ("sequence", "FrameStackObservation", {"stack_size": 2}),
    ("oneof", "DelayObservation", {"delay": 2}),
    ("stacked", "DelayObservation", {"delay": 1}),
    ("tuple", "DelayObservation", {"delay": 3}),
    ("multidiscrete", "DelayObservation", {"delay": 1}),
    ("multidiscrete", "DtypeObservation", {"dtype": np.int8}),
    ("half", "RescaleObservation",
     {"min_obs": np.array([-np.inf, 5.0]), "max_obs": np.array([7.0, np.inf])}),
]  # fmt: skip


@pytest.mark.filterwarnings("ignore:.*Casting input x")
@pytest.mark.parametrize(("name", "wrapper", "kwargs"), ZOO_CASES, ids=ids(ZOO_CASES))
def test_awkward_observations_are_the_same(name, wrapper, kwargs):
    ours, theirs = (
        getattr(gym.wrappers, wrapper)(Zoo.make(gym, name), **kwargs)
        for gym in (envwire.envs, gymnasium)
    )
    assert repr(ours.observation_space) == repr(theirs.observation_space)
    assert_same_rollout(ours, theirs, steps=30)


ZOO_REFUSED = [
    ("dict", "FilterObservation", {"filter_keys": ["a", "z"]}),
    ("dict", "FilterObservation", {"filter_keys": [0]}),
    ("dict", "FilterObservation", {"filter_keys": []}),
    ("tuple", "FilterObservation", {"filter_keys": ["a"]}),
    ("tuple", "FilterObservation", {"filter_keys": [1, 1]}),
    ("tuple", "FilterObservation", {"filter_keys": [2]}),
    ("tuple", "FilterObservation", {"filter_keys": []}),
    ("half", "GrayscaleObservation", {}),
    ("float image", "GrayscaleObservation", {}),
    ("dict", "AddRenderObservation", {"render_only": False, "render_key": "a"}),
    ("tuple", "DtypeObservation", {"dtype": np.int8}),
    ("tuple", "NormalizeObservation", {}),
    ("tuple", "MaxAndSkipObservation", {}),
    ("dict", "TimeAwareObservation", {}),
]


@pytest.mark.parametrize(("name", "wrapper", "kwargs"), ZOO_REFUSED, ids=ids(ZOO_REFUSED))
def test_awkward_observations_are_refused_alike(name, wrapper, kwargs):
    raised = []
    for gym in (envwire.envs, gymnasium):
        with pytest.raises(Exception) as info:  # noqa: PT011
            getattr(gym.wrappers, wrapper)(Zoo.make(gym, name), **kwargs)
        raised.append(info.type.__name__)
    assert raised[0] == raised[1]


@pytest.mark.parametrize(
    ("name", "dtype"), [("bits", np.int8), ("bits", np.float64), ("multidiscrete", np.int8)]
)
def test_integers_are_converted_alike(name, dtype):
    ours, theirs = (
        gym.wrappers.DtypeObservation(Zoo.make(gym, name), dtype)
        for gym in (envwire.envs, gymnasium)
    )
    assert repr(ours.observation_space) == repr(theirs.observation_space)
    assert_same_rollout(ours, theirs, steps=5)


def test_what_is_rendered_must_be_an_array():
    env = Zoo.make(envwire.envs, "half")
    env.render = lambda: "text"
    with pytest.raises(TypeError, match="arrays"):
        envwire.envs.wrappers.AddRenderObservation(env)


@pytest.mark.parametrize("name", ["dict", "unsorted", "tuple", "half"])
@pytest.mark.parametrize("kwargs", [{}, {"flatten": False}, {"normalize_time": True}])
def test_the_time_goes_into_any_observation(name, kwargs):
    envs = []
    for gym in (envwire.envs, gymnasium):
        env = gym.wrappers.TimeLimit(Zoo.make(gym, name), 20)
        if name == "tuple":
            env = gym.wrappers.FilterObservation(env, [0])
        envs.append(gym.wrappers.TimeAwareObservation(env, **kwargs))
    assert repr(envs[0].observation_space) == repr(envs[1].observation_space)
    assert_same_rollout(*envs, steps=30)


@pytest.mark.parametrize(
    ("wrapper", "kwargs"),
    [
        ("AddWhiteNoise", {"probability_of_noise_per_pixel": 0.4}),
        ("AddWhiteNoise", {"probability_of_noise_per_pixel": 0.4, "is_noise_grayscale": True}),
        ("ObstructView", {"obstructed_pixels_ratio": 0.5, "obstruction_width": 3}),
        ("ObstructView", {"obstructed_pixels_ratio": 0.2, "obstruction_width": 2,
                          "is_noise_grayscale": True}),
    ],
)  # fmt: skip
def test_spoilt_frames_are_the_same(wrapper, kwargs):
    ours, theirs = (
        getattr(gym.wrappers, wrapper)(Zoo.make(gym, "image"), **kwargs)
        for gym in (envwire.envs, gymnasium)
    )
    for env in (ours, theirs):
        env.reset(seed=5)
        env.step(1)
    assert same([ours.render() for _ in range(3)], [theirs.render() for _ in range(3)])


@pytest.mark.parametrize("multidiscrete", [False, True])
def test_discretised_values_can_be_put_back(multidiscrete):
    values = np.array([[-2.0], [-0.3], [0.0], [1.99]], np.float32)
    reverted = []
    for gym in (envwire.envs, gymnasium):
        env = gym.wrappers.DiscretizeAction(gym.make(PENDULUM), 7, multidiscrete)
        back = [env.revert_action(value) for value in values]
        forth = [env.action(action) for action in back]
        seen = gym.wrappers.DiscretizeObservation(gym.make(CAR), (3, 4), multidiscrete)
        cells = [
            seen.revert_observation(cell) for cell in ([1, 2] if not multidiscrete else [[0, 1]])
        ]
        reverted.append((back, forth, cells))
    assert same(*reverted)


def test_a_normaliser_can_be_frozen():
    env = envwire.envs.wrappers.NormalizeObservation(envwire.envs.make(CARTPOLE))
    env.reset(seed=1)
    env.update_running_mean = False
    before = env.obs_rms.mean.copy()
    env.step(1)
    assert np.array_equal(env.obs_rms.mean, before)
    env.update_running_mean = True
    env.step(1)
    assert not np.array_equal(env.obs_rms.mean, before)


def test_statistics_count_every_episode():
    env = envwire.envs.wrappers.RecordEpisodeStatistics(
        envwire.envs.make(CARTPOLE), buffer_length=2, stats_key="sums"
    )
    lengths = []
    for seed in range(3):
        env.reset(seed=seed)
        length, over = 0, False
        while not over:
            _, _, terminated, truncated, info = env.step(0)
            length, over = length + 1, terminated or truncated
        assert (info["sums"]["r"], info["sums"]["l"]) == (length, length)
        assert info["sums"]["t"] > 0
        lengths.append(length)
    assert (env.episode_count, list(env.length_queue)) == (3, lengths[1:])
    twice = envwire.envs.wrappers.RecordEpisodeStatistics(env, stats_key="sums")
    twice.reset(seed=1)
    steps = (twice.step(0) for _ in range(20))
    with pytest.raises(AssertionError, match="sums"):
        list(steps)
