"""The checkers beside Gymnasium's: the same environments pass, warn and fail."""

import gymnasium
import gymnasium.utils.env_checker
import gymnasium.utils.env_match
import gymnasium.utils.passive_env_checker
import gymnasium.utils.step_api_compatibility
import numpy as np
import pytest

import envwire.envs
from envwire.envs.utils import env_checker, env_match, passive_env_checker
from envwire.envs.utils import step_api_compatibility as step_api
from envwire.envs.utils.env_checker import data_equivalence
from envwire.testing.comparing import identical as same
from tests.unit.envs.toys import BUILT_IN_IDS, Walk, empty_registry

LIBRARIES = {
    envwire.envs: (env_checker, passive_env_checker),
    gymnasium: (gymnasium.utils.env_checker, gymnasium.utils.passive_env_checker),
}


def model(gym, **overrides):
    """A faultless env of either library, with some attributes or methods replaced."""

    class Model(gym.Env):
        metadata = {"render_modes": ["rgb_array"], "render_fps": 5}
        render_mode = "rgb_array"

        def __init__(self):
            self.action_space = gym.spaces.Box(-1, 1, (1,))
            self.observation_space = gym.spaces.Box(0, 1, (2,))

        def reset(self, *, seed=None, options=None):
            gym.Env.reset(self, seed=seed)
            return self.np_random.random(2, np.float32), {}

        def step(self, action):
            return self.np_random.random(2, np.float32), 1.0, False, False, {}

        def render(self):
            return np.zeros((2, 3, 3), np.uint8)

    for name, value in overrides.items():
        setattr(Model, name, value)
    return Model()


def result(call, *args, **kwargs):
    """How many warnings a call gives, and the class of its exception."""
    import warnings

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            call(*args, **kwargs)
        except Exception as exc:
            return type(exc).__name__, sorted(w.category.__name__ for w in caught)
    return None, sorted(w.category.__name__ for w in caught)


def stepping(*values):
    def step(self, action):
        obs, rest = self.np_random.random(2, np.float32), values
        return (obs, *rest) if values[0] is not Ellipsis else values[1:]

    return step


def fixed(value):
    return lambda self: value


FAULTS = {
    "faultless": {},
    "seed is not taken": {"reset": lambda self, *, options=None: (np.zeros(2, np.float32), {})},
    "options are not taken": {"reset": lambda self, *, seed=None: (np.zeros(2, np.float32), {})},
    "kwargs lie about the seed": {"reset": lambda self, **kwargs: nothing(**kwargs)},
    "seed has a default": {"reset": lambda self, *, seed=1, options=None: reset_of(self, seed)},
    "no generator": {
        "reset": lambda self, *, seed=None, options=None: (np.zeros(2, np.float32), {})
    },
    "unseeded": {
        "reset": lambda self, *, seed=None, options=None: (reset_of(self), unseed(self))[0]
    },
    "reset returns no tuple": {
        "reset": lambda self, *, seed=None, options=None: list(reset_of(self, seed))
    },
    "reset returns three": {
        "reset": lambda self, *, seed=None, options=None: (*reset_of(self, seed), 1)
    },
    "reset returns no dict": {
        "reset": lambda self, *, seed=None, options=None: (reset_of(self, seed)[0], [])
    },
    "reset is outside": {
        "reset": lambda self, *, seed=None, options=None: (reset_of(self, seed)[0] + 2, {})
    },
    "step is outside": {"step": lambda self, action: (np.full(2, 7, np.float32), 1.0, False, False, {})},
    "step returns four": {"step": stepping(1.0, False, {})},
    "step returns six": {"step": stepping(1.0, False, False, {}, 1)},
    "step returns a list": {"step": lambda self, action: [1, 2]},
    "flags are ints": {"step": stepping(1.0, 0, 0, {})},
    "reward is text": {"step": stepping("1", False, False, {})},
    "reward is nan": {"step": stepping(float("nan"), False, False, {})},
    "reward is infinite": {"step": stepping(float("inf"), False, False, {})},
    "reward is an array": {"step": stepping(np.ones(1), False, False, {})},
    "info is a list": {"step": stepping(1.0, False, False, [])},
    "truncates at once": {"step": stepping(1.0, False, True, {})},
    "info is reused": {"step": lambda self, action, info={}: (reset_of(self)[0], 1.0, False, False, info)},
    "step is random": {
        "step": lambda self, action: (np.random.random(2).astype(np.float32), 1.0, False, False, {})
    },
    "seed is a method": {"seed": lambda self: None},
    "render returns text": {"render": fixed("x")},
    "render returns floats": {"render": fixed(np.zeros((2, 3, 3)))},
    "render returns two axes": {"render": fixed(np.zeros((2, 3), np.uint8))},
    "render returns two axes of floats": {"render": fixed(np.zeros((2, 3)))},
    "render returns four channels": {"render": fixed(np.zeros((2, 3, 4), np.uint8))},
    "mode is not declared": {"render_mode": "ansi", "render": fixed("x")},
    "no render modes": {"metadata": {}, "render_mode": None},
    "render modes are text": {"metadata": {"render_modes": "rgb_array", "render_fps": 1}},
    "render modes are numbers": {"metadata": {"render_modes": [1, "rgb_array"], "render_fps": 1}},
    "no fps": {"metadata": {"render_modes": ["rgb_array"]}},
    "fps is text": {"metadata": {"render_modes": ["rgb_array"], "render_fps": "5"}},
    "fps is zero": {"metadata": {"render_modes": ["rgb_array"], "render_fps": 0}},
    "mode without modes": {"metadata": {"render_modes": []}, "render": fixed(None)},
    "depth": {"render_mode": "depth_array", "metadata": {"render_modes": ["depth_array"]},
              "render": fixed(np.zeros(3))},
    "human": {"render_mode": "human", "metadata": {"render_modes": ["human"], "render_fps": 1},
              "render": fixed(1)},
    "list": {"render_mode": "ansi_list", "metadata": {"render_modes": ["ansi_list"], "render_fps": 1},
             "render": fixed(["x", 3])},
    "no list": {"render_mode": "ansi_list", "render": fixed("x"),
                "metadata": {"render_modes": ["ansi_list"], "render_fps": 1}},
}  # fmt: skip


def nothing():
    return np.zeros(2, np.float32), {}


def reset_of(env, seed=None):
    if seed is not None:
        env._np_random, env._np_random_seed = envwire.envs.utils.seeding.np_random(seed)
    return env.np_random.random(2, np.float32), {}


def unseed(env):
    env.np_random = np.random.default_rng()


@pytest.mark.parametrize("fault", FAULTS)
def test_check_env_judges_alike(fault):
    ours, theirs = (
        result(checker.check_env, model(gym, **FAULTS[fault]))
        for gym, (checker, _) in LIBRARIES.items()
    )
    assert ours == theirs
    # The one warning of a faultless env says that it was not made by make.
    assert (ours == (None, ["UserWarning"])) == (fault in ("faultless", "no render modes"))


@pytest.mark.parametrize("fault", FAULTS)
def test_the_passive_wrapper_judges_alike(fault):
    def use(gym):
        env = gym.wrappers.PassiveEnvChecker(model(gym, **FAULTS[fault]))
        calls = [lambda: env.reset(seed=1), lambda: env.step(np.zeros(1)), env.render, env.close]
        calls = [calls[0], calls[1], calls[1], calls[2], calls[0], calls[2], calls[3], calls[3]]
        results = [result(call) for call in calls]
        # After a reset that failed, Gymnasium's fails over what the reset did not leave behind.
        return results if results[0][0] is None else results[:1]

    ours, theirs = (use(gym) for gym in LIBRARIES)
    assert ours == theirs


@pytest.mark.parametrize("missing", ["action_space", "observation_space"])
def test_missing_spaces_are_told_alike(missing):
    results = []
    for gym, (active, _) in LIBRARIES.items():
        env = model(gym)
        delattr(env, missing)
        results.append([result(active.check_env, env), result(gym.wrappers.PassiveEnvChecker, env)])
    assert results[0] == results[1]
    assert results[0][0][0] == "AttributeError"


def test_closing_twice_must_not_raise():
    def close(self):
        if getattr(self, "closed", False):
            raise RuntimeError("closed already")
        self.closed = True

    for gym, (active, _) in LIBRARIES.items():
        env = gym.wrappers.PassiveEnvChecker(model(gym, close=close))
        env.close()
        assert result(env.close) == ("RuntimeError", ["UserWarning"])
        with empty_registry(gym):
            gym.register("Model-v0", entry_point=lambda gym=gym, **_: model(gym, close=close))
            env = gym.make("Model-v0").unwrapped
            assert result(active.check_env, env, skip_render_check=True) == (None, ["UserWarning"])


def test_order_is_enforced_alike():
    for gym in LIBRARIES:
        env = gym.wrappers.OrderEnforcing(model(gym))
        assert not env.has_reset
        assert result(env.step, np.zeros(1))[0] == result(env.render)[0] == "ResetNeeded"
        lax = gym.wrappers.OrderEnforcing(model(gym), disable_render_order_enforcing=True)
        assert result(lax.render) == (None, [])
        env.reset()
        assert env.has_reset
        assert result(env.render) == (None, [])


def test_a_time_limit_counts_from_the_reset():
    with pytest.raises(envwire.envs.error.ResetNeeded, match="TimeLimit"):
        envwire.envs.wrappers.TimeLimit(model(envwire.envs), 3).step(np.zeros(1))


def test_nondeterminism_may_be_declared():
    step = FAULTS["step is random"]["step"]
    for gym, (active, _) in LIBRARIES.items():
        env = model(gym, step=step)
        env.spec = gym.envs.registration.EnvSpec("Model-v0", nondeterministic=True)
        assert result(active.check_step_determinism, env) == (None, [])
        assert result(active.check_env, env, warn=True, skip_render_check=True,
                      skip_close_check=True)[0] is None  # fmt: skip


@pytest.mark.parametrize("env_id", BUILT_IN_IDS)
def test_the_built_in_envs_pass(env_id):
    env = envwire.envs.make(env_id).unwrapped
    exception, _ = result(env_checker.check_env, env)
    assert exception is None
    with pytest.raises(TypeError, match="Env"):
        env_checker.check_env(3)
    with pytest.warns(UserWarning, match="wrapped|infinity|recommend"):
        env_checker.check_env(envwire.envs.make(env_id), skip_render_check=True)


AWKWARD_SPACES = {
    "no space": lambda s: 3,
    "empty dict": lambda s: s.Dict(),
    "empty tuple": lambda s: s.Tuple(()),
    "dict of no space": lambda s: _with(s.Dict(a=s.Discrete(2)), "spaces", {"a": 3}),
    "equal bounds": lambda s: s.Box(1, 1, (2,)),
    "crossed bounds": lambda s: _with(s.Box(0, 1, (2,)), "low", np.full(2, 3.0)),
    "odd low": lambda s: _with(s.Box(0, 1, (2,)), "low", np.zeros(3)),
    "odd high": lambda s: _with(s.Box(0, 1, (2,)), "high", np.zeros(3)),
    "no choice": lambda s: _with(s.Discrete(2), "n", 0),
    "shaped choice": lambda s: _with(s.Discrete(2), "_shape", (2,)),
    "odd nvec": lambda s: _with(s.MultiDiscrete([2, 2]), "nvec", np.array([2, 2, 2])),
    "zero nvec": lambda s: _with(s.MultiDiscrete([2, 2]), "nvec", np.array([2, 0])),
    "empty bits": lambda s: _with(s.MultiBinary(2), "_shape", (0,)),
    "unbounded": lambda s: s.Box(-np.inf, np.inf, (2,)),
    "lopsided": lambda s: s.Tuple((s.Box(-1, 0.5, (2,)),)),
    "wide": lambda s: s.Dict(a=s.Box(-2, 2, (2,))),
    "fine": lambda s: s.Dict(a=s.Text(3), b=s.MultiBinary(2), c=s.MultiDiscrete([2, 2])),
}


def _with(space, name, value):
    setattr(space, name, value)
    return space


@pytest.mark.parametrize("name", AWKWARD_SPACES)
@pytest.mark.parametrize("kind", ["action", "observation"])
def test_spaces_are_judged_alike(name, kind):
    results = []
    for gym, (active, passive) in LIBRARIES.items():
        space = AWKWARD_SPACES[name](gym.spaces)
        results.append(
            [
                result(getattr(passive, f"check_{kind}_space"), space),
                result(active.check_space_limit, space, kind),
            ]
        )
    assert results[0] == results[1]


def test_a_check_of_ones_own_is_given_every_box():
    for gym, (_, passive) in LIBRARIES.items():
        boxes = [gym.spaces.Box(0, high, (1,)) for high in (1, 2)]
        space, seen = gym.spaces.Dict(a=boxes[0], b=gym.spaces.Tuple(boxes[1:])), []
        passive.check_space(space, "action", seen.append)
        assert seen == boxes


OBSERVATIONS = [
    (lambda s: s.Discrete(3), [1, np.int64(1), np.int32(1), 1.0, 7, "1"]),
    (lambda s: s.Box(0, 1, (2,)), [np.zeros(2, np.float32), np.zeros(2), [0, 0], np.full(2, 9.0)]),
    (lambda s: s.Box(0, 1, ()), [np.float32(0.5), 0.5, np.array(0.5, np.float32)]),
    (lambda s: s.MultiBinary(2), [np.zeros(2, np.int8), [0, 1]]),
    (lambda s: s.MultiDiscrete([2, 3]), [np.zeros(2, np.int64), [0, 1]]),
    (lambda s: s.Tuple((s.Discrete(2), s.Box(0, 1, (1,)))),
     [(1, np.zeros(1, np.float32)), [1, np.zeros(1, np.float32)], (1,), (1.0, [2]),
      {"a": 1, "b": 2}, "ab", 3]),
    (lambda s: s.Dict(a=s.Discrete(2)), [{"a": 1}, {"a": 5}, {"b": 1}, {}, 3, {"a": 1, "b": 2}]),
]  # fmt: skip


@pytest.mark.parametrize(("space", "values"), OBSERVATIONS)
def test_observations_are_judged_alike(space, values):
    for value in values:
        ours, theirs = (
            result(passive.check_obs, value, space(gym.spaces), "step")
            for gym, (_, passive) in LIBRARIES.items()
        )
        assert ours == theirs, value


def test_an_observation_of_the_spaces_own_dtype_is_fine():
    space = envwire.envs.spaces.Discrete(3, dtype=np.int16)
    assert result(passive_env_checker.check_obs, np.int16(1), space, "step") == (None, [])


DATA = [
    1, 1.0, True, np.int64(1), np.float32(1), "1", None, (1, 2), [1, 2], (1, 2, 3), {"a": 1},
    {"a": 1.0}, {"b": 1}, {"a": {"c": [np.zeros(2)]}}, {"a": {"c": [np.ones(2)]}},
    np.zeros(2), np.zeros(2, np.float32), np.zeros((2, 1)), np.zeros(2) + 1e-7, np.array([None, 1]),
    np.array([None, 2]), np.array([[None, 1], [2, 3]], dtype=object), np.array([np.nan]),
]  # fmt: skip


@pytest.mark.parametrize("exact", [False, True])
def test_data_is_equivalent_alike(exact):
    theirs = gymnasium.utils.env_checker.data_equivalence
    for left in DATA:
        for right in DATA:
            assert data_equivalence(left, right, exact) is theirs(left, right, exact)


def test_shared_objects_are_found_alike():
    theirs = gymnasium.utils.passive_env_checker.data_shares_objects
    array, info, objects = np.zeros(4), {"a": 1}, np.array([{}, []], dtype=object)
    data = [
        array, array[:2], array.copy(), array[2:], info, dict(info), {"x": array}, {"x": info},
        (1, array), (1, array[:1]), (1, 2, 3), objects, objects.copy(), 3, "text", [array],
    ]  # fmt: skip
    for left in data:
        for right in data:
            shares = passive_env_checker.data_shares_objects(left, right)
            assert shares is theirs(left, right)


def test_environments_that_match_and_that_do_not():
    make = envwire.envs.make
    env_match.check_environments_match(
        make("CartPole-v1", render_mode="rgb_array"),
        make("CartPole-v1", render_mode="rgb_array"),
        60,
    )
    with pytest.raises(AssertionError, match="observation does not match in step 0"):
        env_match.check_environments_match(make("Pendulum-v1"), make("Pendulum-v1", g=1.0), 2)
    skips = {"skip_obs": True, "skip_rew": True}
    env_match.check_environments_match(make("Pendulum-v1"), make("Pendulum-v1", g=1.0), 5, **skips)
    with pytest.raises(AssertionError, match="action space"):
        env_match.check_environments_match(make("Pendulum-v1"), make("CartPole-v1"), 1)
    with pytest.raises(AssertionError, match="info_comparison"):
        env_match.check_environments_match(Walk(), Walk(), 1, info_comparison="nonsense")


@pytest.mark.parametrize(
    "how", ["equivalence", "superset", "keys-equivalence", "keys-superset", "skip"]
)
@pytest.mark.parametrize("extra", [{}, {"more": 1}, {"t": -1}])
def test_infos_are_compared_alike(how, extra):
    results = []
    for gym, match in ((envwire.envs, env_match), (gymnasium, gymnasium.utils.env_match)):

        class Informed(gym.Env):
            action_space = observation_space = gym.spaces.Discrete(3)
            extra: dict = {}

            def reset(self, *, seed=None, options=None):
                return 0, {"t": 0, **self.extra}

            def step(self, action):
                return 0, 0.0, False, False, {"t": 1, **self.extra}

        other = Informed()
        other.extra = extra
        results.append(
            result(match.check_environments_match, Informed(), other, 3, info_comparison=how)
        )
    assert results[0] == results[1]


STEPS = [
    ((0, 1.0, True, {}), False),
    ((0, 1.0, True, {"TimeLimit.truncated": True, "x": 1}), False),
    ((0, 1.0, False, {}), False),
    ((0, 1.0, True, False, {}), False),
    ((0, 1.0, True, True, {}), False),
    ((0, 1.0, False, True, {}), False),
    ((0, np.ones(2), np.array([True, False]), {}), True),
    ((0, np.ones(2), np.array([True, True]), [{"TimeLimit.truncated": True}, {}]), True),
    ((0, np.ones(2), np.array([True, True]), {"TimeLimit.truncated": np.array([True, False])}), True),
    ((0, np.ones(2), np.array([True, False]), np.array([True, True]), {}), True),
    ((0, np.ones(2), np.array([False, False]), np.array([False, False]), {}), True),
    ((0, np.ones(2), np.array([False, True]), np.array([True, True]), [{}, {}]), True),
]  # fmt: skip


@pytest.mark.parametrize(("step", "is_vector"), STEPS)
@pytest.mark.parametrize("to_five", [True, False])
def test_steps_are_converted_alike(step, is_vector, to_five):
    import copy

    theirs = gymnasium.utils.step_api_compatibility.step_api_compatibility
    convert = step_api.step_api_compatibility
    mine, other = copy.deepcopy(step), copy.deepcopy(step)
    assert same(convert(mine, to_five, is_vector), theirs(other, to_five, is_vector))


@pytest.mark.parametrize("to_five", [True, False])
def test_what_is_no_step_is_refused(to_five):
    with pytest.raises(AssertionError, match="4 or 5"):
        step_api.step_api_compatibility((1, 2, 3), to_five)
    step = (0, 0, np.ones(1), "infos") if to_five else (0, 0, np.ones(1), np.ones(1), "infos")
    with pytest.raises(TypeError, match="dict or a list"):
        step_api.step_api_compatibility(step, to_five, is_vector_env=True)
