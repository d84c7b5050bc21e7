"""Vector wrappers beside Gymnasium's, in lock step."""

import gymnasium
import numpy as np
import pytest

import envwire.envs
from envwire.envs.wrappers.vector.dict_info_to_list import info_list
from envwire.testing.comparing import identical as same

LIBRARIES = (envwire.envs, gymnasium)
CARTPOLE, PENDULUM, LAKE = "CartPole-v1", "Pendulum-v1", "FrozenLake-v1"


def wide(space):
    return lambda gym: gym.spaces.Box(-9, 9, space, np.float64)


#: (env id, wrapper, kwargs as a function of the library).
CASES = [
    (PENDULUM, "ClipAction", lambda gym: {}),
    (PENDULUM, "RescaleAction", lambda gym: {"min_action": -1, "max_action": 1}),
    (PENDULUM, "TransformAction", lambda gym: {"func": lambda actions: actions / 2}),
    (PENDULUM, "TransformAction", lambda gym: {
        "func": lambda a: a / 5, "single_action_space": gym.spaces.Box(-9, 9, (1,))}),
    (PENDULUM, "VectorizeTransformAction", lambda gym: {
        "wrapper": gym.wrappers.TransformAction, "func": np.cos, "action_space": None}),
    (PENDULUM, "VectorizeTransformAction", lambda gym: {
        "wrapper": gym.wrappers.RescaleAction, "min_action": 0, "max_action": 1}),
    (PENDULUM, "ClipReward", lambda gym: {"min_reward": -2, "max_reward": -1}),
    (PENDULUM, "TransformReward", lambda gym: {"func": lambda rewards: rewards * 3}),
    (LAKE, "VectorizeTransformReward", lambda gym: {
        "wrapper": gym.wrappers.TransformReward, "func": lambda reward: reward - 1}),
    (PENDULUM, "NormalizeReward", lambda gym: {}),
    (CARTPOLE, "NormalizeReward", lambda gym: {"gamma": 0.5, "epsilon": 0.1}),
    (CARTPOLE, "NormalizeObservation", lambda gym: {}),
    (CARTPOLE, "ReshapeObservation", lambda gym: {"shape": (2, 2)}),
    (CARTPOLE, "FlattenObservation", lambda gym: {}),
    (LAKE, "FlattenObservation", lambda gym: {}),
    (PENDULUM, "RescaleObservation", lambda gym: {"min_obs": 0, "max_obs": 1}),
    (LAKE, "DtypeObservation", lambda gym: {"dtype": np.int16}),
    (CARTPOLE, "TransformObservation", lambda gym: {"func": np.sin}),
    (CARTPOLE, "TransformObservation", lambda gym: {
        "func": np.float64, "single_observation_space": wide((4,))(gym)}),
    (CARTPOLE, "TransformObservation", lambda gym: {
        "func": np.float64, "observation_space": wide((3, 4))(gym),
        "single_observation_space": wide((4,))(gym)}),
    (LAKE, "VectorizeTransformObservation", lambda gym: {
        "wrapper": gym.wrappers.TransformObservation, "func": lambda obs: obs,
        "observation_space": None}),
    (CARTPOLE, "DictInfoToList", lambda gym: {}),
    (LAKE, "DictInfoToList", lambda gym: {}),
]  # fmt: skip


@pytest.mark.parametrize(("env_id", "name", "kwargs"), CASES)
def test_rollouts_and_spaces_are_the_same(env_id, name, kwargs):
    ours, theirs = (
        getattr(gym.wrappers.vector, name)(
            gym.make_vec(env_id, num_envs=3, vectorization_mode="sync"), **kwargs(gym)
        )
        for gym in LIBRARIES
    )
    for kind in ("action_space", "observation_space"):
        for which in (kind, f"single_{kind}"):
            assert repr(getattr(ours, which)) == repr(getattr(theirs, which))
    assert same(ours.reset(seed=4), theirs.reset(seed=4))
    ours.action_space.seed(4)
    for _ in range(60):
        actions = ours.action_space.sample()
        result = ours.step(actions)
        assert same(result, theirs.step(actions)), result


@pytest.mark.parametrize("mode", ["NextStep", "SameStep"])
def test_statistics_are_the_same(mode):
    envs = [
        gym.wrappers.vector.RecordEpisodeStatistics(
            gym.make_vec(
                CARTPOLE, 3, vectorization_mode="sync", vector_kwargs={"autoreset_mode": mode}
            ),
            buffer_length=4,
        )
        for gym in LIBRARIES
    ]
    ours, theirs = envs
    assert same(ours.reset(seed=4), theirs.reset(seed=4))
    ours.action_space.seed(4)
    episodes = 0
    for _ in range(150):
        actions = ours.action_space.sample()
        infos = [env.step(actions)[4] for env in envs]
        assert infos[0].keys() == infos[1].keys()
        if "episode" in infos[0]:
            assert all(info["episode"].pop("t").max() > 0 for info in infos)
            assert same(infos[0]["episode"], infos[1]["episode"])
            assert same(infos[0]["_episode"], infos[1]["_episode"])
            episodes += infos[0]["_episode"].sum()
    assert ours.episode_count == theirs.episode_count == episodes > 10
    assert list(ours.length_queue) == list(theirs.length_queue)


def test_statistics_of_those_that_a_mask_leaves_out_go_on():
    env = envwire.envs.wrappers.vector.RecordEpisodeStatistics(
        envwire.envs.make_vec(
            CARTPOLE, 2, vectorization_mode="sync", vector_kwargs={"autoreset_mode": "Disabled"}
        )
    )
    env.reset(seed=1)
    env.step(np.array([0, 1]))
    env.reset(options={"reset_mask": np.array([True, False])})
    env.step(np.array([0, 1]))
    assert env.episode_lengths.tolist() == [1, 2]
    assert env.episode_returns.tolist() == [1.0, 2.0]


def test_statistics_need_their_own_key_and_a_mode():
    vector = envwire.envs.wrappers.vector
    env = envwire.envs.make_vec(CARTPOLE, 2, vectorization_mode="sync")
    twice = vector.RecordEpisodeStatistics(vector.RecordEpisodeStatistics(env))
    twice.reset(seed=1)
    steps = (twice.step(np.zeros(2, np.int64)) for _ in range(30))
    with pytest.raises(ValueError, match="stats_key"):
        list(steps)
    env.metadata = {"autoreset_mode": "NextStep"}
    with pytest.raises(TypeError, match="AutoresetMode"):
        vector.RecordEpisodeStatistics(env)
    env.metadata = {}
    with pytest.warns(UserWarning, match="autoreset_mode"):
        vector.RecordEpisodeStatistics(env)


@pytest.mark.parametrize(
    ("name", "kwargs"),
    [
        ("NormalizeObservation", {"epsilon": 0}),
        ("NormalizeReward", {"epsilon": 0}),
        ("NormalizeReward", {"gamma": 2}),
        ("ClipReward", {}),
        ("ClipAction", {}),
        ("FilterObservation", {"filter_keys": ["a"]}),
        ("GrayscaleObservation", {}),
    ],
)
def test_bad_arguments_raise_the_same_class(name, kwargs):
    raised = []
    for gym in LIBRARIES:
        env = gym.make_vec(CARTPOLE, vectorization_mode="sync")
        with pytest.raises(Exception) as info:  # noqa: PT011
            getattr(gym.wrappers.vector, name)(env, **kwargs)
        raised.append(info.type.__name__)
    assert raised[0] == raised[1]


def test_normalising_needs_whole_resets_on_the_next_step():
    vector, make = envwire.envs.wrappers.vector, envwire.envs.make_vec
    env = vector.NormalizeObservation(make(CARTPOLE, 2, vectorization_mode="sync"))
    with pytest.raises(ValueError, match="at once"):
        env.reset(options={"reset_mask": np.array([True, False])})
    env.reset(seed=1, options={"reset_mask": np.array([True, True])})
    env.update_running_mean = False
    before = env.obs_rms.mean.copy()
    env.step(np.zeros(2, np.int64))
    assert np.array_equal(env.obs_rms.mean, before)
    disabled = make(
        CARTPOLE, 2, vectorization_mode="sync", vector_kwargs={"autoreset_mode": "Disabled"}
    )
    with pytest.raises(ValueError, match="NEXT_STEP"):
        vector.NormalizeObservation(disabled)


def test_spaces_that_do_not_fit_are_warned_of():
    env = envwire.envs.make_vec(CARTPOLE, 2, vectorization_mode="sync")
    with pytest.warns(UserWarning, match="not the batch"):
        envwire.envs.wrappers.vector.TransformObservation(
            env, np.float64, observation_space=wide((3, 4))(envwire.envs)
        )


def test_infos_as_lists():
    infos = {
        "a": np.array([1, 2]), "_a": np.array([True, False]),
        "b": {"c": np.array([3.0, 4.0]), "_c": np.array([False, True])}, "_b": np.array([True, True]),
        "plain": np.array(["x", "y"]),
    }  # fmt: skip
    assert info_list(infos, 2) == [
        {"a": 1, "b": {}, "plain": "x"},
        {"b": {"c": 4.0}, "plain": "y"},
    ]


@pytest.mark.parametrize(
    "columns",
    [
        {"a": np.arange(3)},
        {"a": np.arange(2), "_a": np.ones(3, bool)},
        {"nested": {"a": np.arange(3)}},
    ],
)
@pytest.mark.parametrize("gym", LIBRARIES, ids=["ours", "theirs"])
def test_columns_of_infos_are_as_long_as_the_batch(gym, columns):
    env = gym.make_vec("CartPole-v1", 2, vectorization_mode="sync")
    env.step = lambda actions: (*(np.zeros(2) for _ in range(4)), columns)
    with pytest.raises(AssertionError, match=r"2|num_envs"):
        gym.wrappers.vector.DictInfoToList(env).step(np.zeros(2, int))


def test_filtered_batches_of_dicts():
    batches = []
    for gym in LIBRARIES:

        class Pair(gym.Env):
            action_space = gym.spaces.Discrete(2)
            observation_space = gym.spaces.Dict(a=gym.spaces.Discrete(5), b=gym.spaces.Box(0, 1))

            def reset(self, *, seed=None, options=None):
                return {"a": 3, "b": np.ones(1, np.float32)}, {}

        env = gym.wrappers.vector.FilterObservation(gym.vector.SyncVectorEnv([Pair] * 2), ["b"])
        batches.append(env.reset())
    assert same(*batches)
