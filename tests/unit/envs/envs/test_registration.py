"""Registering, finding and making, beside Gymnasium: the same scripts give the same results."""

import json

import gymnasium
import numpy as np
import pytest

import envwire.envs
from envwire.envs.envs.making import apply_wrapper
from envwire.envs.envs.registration import EnvSpec, WrapperSpec
from tests.unit.envs.toys import Scaled, Walk, empty_registry

LIBRARIES = (envwire.envs, gymnasium)


@pytest.fixture(params=LIBRARIES, ids=["ours", "theirs"])
def gym(request):
    """Either library with an empty registry."""
    with empty_registry(request.param):
        yield request.param


def outcome(call, *args, **kwargs):
    """The result of a call, or the classes of its exception."""
    try:
        return call(*args, **kwargs)
    except Exception as exc:
        return [cls.__name__ for cls in type(exc).__mro__]


def toy(gym, **attributes):
    """An env class of either library."""

    class Toy(gym.Env):
        action_space = gym.spaces.Discrete(2)
        observation_space = gym.spaces.Discrete(3)
        metadata = {"render_modes": ["rgb_array", "ansi"], "render_fps": 5}

        def __init__(self, render_mode=None, size=1):
            self.render_mode, self.size = render_mode, size

        def reset(self, *, seed=None, options=None):
            super().reset(seed=seed)
            return 0, {}

        def step(self, action):
            return int(action), 0.0, False, False, {}

        def render(self):
            return {"ansi": "x", "rgb_array": np.zeros((2, 2, 3), np.uint8)}[self.render_mode]

    for name, value in attributes.items():
        setattr(Toy, name, value)
    return Toy


def both(script):
    """The results of a script in both libraries, with empty registries."""
    results = []
    for library in LIBRARIES:
        with empty_registry(library):
            results.append(script(library))
    return results


#: Ids that are registered before a lookup.
KNOWN = ("Toy-v1", "Toy-v3", "ns/Toy-v2", "ns/Plain", "Plain", "Other-v0")


@pytest.mark.parametrize("look", ["make", "spec"])
@pytest.mark.parametrize(
    "env_id",
    ["Toy-v1", "Toy-v3", "ns/Plain", "Toy", "ns/Toy", "Toy-v0", "Toy-v2", "Toy-v4", "Plain-v1",
     "Toi-v1", "nss/Toy-v2", "ns/Other-v0", "Nothing", "a b", "", "Toy-vx", "a/b/c", 3,
     "no_such_module:Toy-v1", "math:Toy-v1", "Other-v00"],
)  # fmt: skip
@pytest.mark.filterwarnings("ignore:.*out of date", "ignore:.*latest versioned")
def test_ids_are_found_or_refused_alike(look, env_id):
    def script(gym):
        for known in KNOWN:
            gym.register(known, entry_point=toy(gym))
        found = outcome(getattr(gym, look), env_id)
        spec = getattr(found, "spec", found)
        return getattr(spec, "id", spec)

    ours, theirs = both(script)
    assert ours == theirs


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("Toy-v0", "Toy"),
        ("Toy", "Toy-v0"),
        ("Toy-v0", "Toy-v1"),
        ("ns/Toy", "Toy-v0"),
        ("a b", "c"),
    ],
)
def test_versioned_and_unversioned_ids_do_not_mix(first, second):
    def script(gym):
        made = [outcome(gym.register, env_id, toy(gym)) for env_id in (first, second)]
        return made, list(gym.registry)

    ours, theirs = both(script)
    assert ours == theirs


def test_registering_again_warns_and_a_spec_needs_an_entry_point(gym):
    gym.register("Toy-v0", entry_point=toy(gym))
    with pytest.warns(UserWarning, match="already in registry"):
        gym.register("Toy-v0", entry_point=toy(gym))
    with pytest.raises(ValueError, match="entry_point"):
        gym.register("Toy-v1")
    gym.register("Vector-v0", vector_entry_point=toy(gym))
    with pytest.raises(gym.error.Error, match="entry_point"):
        gym.make("Vector-v0")


def test_a_namespace_is_put_before_ids(gym):
    with gym.envs.registration.namespace("ns"):
        gym.register("Toy-v0", entry_point=toy(gym))
        with gym.envs.registration.namespace("inner"):
            gym.register("Toy", entry_point=toy(gym))
    gym.register("Toy-v1", entry_point=toy(gym))
    assert list(gym.registry) == ["ns/Toy-v0", "inner/Toy", "Toy-v1"]
    assert gym.envs.registration.find_highest_version("ns", "Toy") == 0
    assert gym.envs.registration.find_highest_version("inner", "Toy") is None


def test_an_id_in_another_namespace_is_moved_with_a_warning(monkeypatch):
    monkeypatch.setattr(envwire.envs.envs.registration, "current_namespace", "ns")
    with empty_registry(), pytest.warns(UserWarning, match="replaced by 'ns'"):
        envwire.envs.register("other/Toy-v0", entry_point=Walk)


@pytest.mark.parametrize(
    ("mode", "kind", "warns"),
    [
        (None, "OrderEnforcing", False),
        ("rgb_array", "OrderEnforcing", False),
        ("rgb_array_list", "RenderCollection", False),
        ("ansi_list", "RenderCollection", False),
        ("human", "HumanRendering", True),
        ("depth_array", "OrderEnforcing", True),
        ("depth_array_list", "OrderEnforcing", True),
    ],
)
def test_render_modes_are_planned_alike(gym, mode, kind, warns, recwarn):
    gym.register("Toy-v0", entry_point=toy(gym), disable_env_checker=True)
    env = gym.make("Toy-v0", render_mode=mode)
    assert type(env).__name__ == kind
    assert env.render_mode == mode
    assert bool(recwarn.list) == warns


@pytest.mark.parametrize(
    "attributes",
    [{"metadata": []}, {"metadata": {}}, {"metadata": {"render_modes": 3}}, {"reset": None}],
    ids=["list", "empty", "number", "fine"],
)
def test_metadata_is_looked_at_alike(attributes):
    def script(gym):
        gym.register("Toy-v0", entry_point=toy(gym, **attributes))
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(gym.logger, "min_level", 50)
            return str(outcome(gym.make, "Toy-v0"))

    ours, theirs = both(script)
    assert ours == theirs


@pytest.mark.parametrize(
    ("entry_point", "kwargs"),
    [
        (lambda gym: lambda: 3, {}),
        (lambda gym: lambda **_: "not an env", {}),
        (toy, {"nonsense": 1}),
        (lambda gym: "math:no_such_function", {}),
        (lambda gym: "no_such_module:Toy", {}),
        (lambda gym: "malformed", {}),
    ],
    ids=["int", "str", "kwargs", "attribute", "module", "malformed"],
)
def test_broken_entry_points_raise_alike(entry_point, kwargs):
    def script(gym):
        gym.register("Toy-v0", entry_point=entry_point(gym))
        return outcome(gym.make, "Toy-v0", **kwargs)

    ours, theirs = both(script)
    assert ours == theirs


@pytest.mark.parametrize("mode", ["human", "rgb_array_list"])
def test_an_env_without_the_argument_render_mode(gym, mode, monkeypatch):
    cls = toy(gym)

    class Old(cls):
        def __init__(self):
            super().__init__()

    gym.register("Old-v0", entry_point=Old)
    monkeypatch.setattr(gym.logger, "min_level", 50)
    expected = gym.error.Error if mode == "human" else TypeError
    with pytest.raises(expected, match="render_mode"):
        gym.make("Old-v0", render_mode=mode)


def test_a_human_is_shown_lists_of_frames_too(gym, monkeypatch):
    listing = {"render_modes": ["rgb_array_list"], "render_fps": 5}
    gym.register("List-v0", entry_point=toy(gym, metadata=listing))
    monkeypatch.setattr(gym.logger, "min_level", 50)
    assert type(gym.make("List-v0", render_mode="human")).__name__ == "HumanRendering"


def test_a_made_env_can_be_made_again(gym):
    gym.register("Toy-v0", entry_point=toy(gym), max_episode_steps=9, kwargs={"size": 2})
    env = gym.make("Toy-v0", max_episode_steps=4, render_mode="ansi_list", size=3)
    env = gym.wrappers.FlattenObservation(gym.wrappers.ClipReward(env, -1, 1))
    again = gym.make(env.spec)
    assert str(again) == str(env)
    assert again.spec == env.spec
    assert again.unwrapped.size == 3
    assert gym.spec("Toy-v0").kwargs == {"size": 2}, "the registry keeps its own"


def test_an_entry_point_may_wrap_for_itself(gym):
    cls = toy(gym)
    gym.register("Toy-v0", entry_point=lambda **k: gym.wrappers.TimeLimit(cls(**k), 3))
    gym.register("Clip-v0", entry_point=lambda **k: gym.wrappers.ClipReward(cls(**k), -1, 1))
    assert gym.make("Toy-v0").spec.max_episode_steps == 3
    spec = gym.make("Clip-v0").spec
    assert str(spec.make()) == str(gym.make("Clip-v0"))
    spec.additional_wrappers = (gym.wrappers.ClipReward.wrapper_spec(min_reward=0),)
    with pytest.raises(ValueError, match="wrapper"):
        spec.make()


def test_pprint_shows_the_same():
    def script(gym):
        for env_id in ("ns/A-v0", "ns/B-v0", "ns/C-v0", "ns/Longer", "other/A-v1", "other/A-v2"):
            gym.register(env_id, entry_point="pkg.sub.mod:Env")
        gym.register("A-v1", entry_point="pkg.sub.mod:Env")
        gym.register("B-v1", entry_point="pkg.mod:Env")
        gym.register("C-v1", entry_point="mod:Env")
        texts = [
            gym.pprint_registry(disable_print=True),
            gym.pprint_registry(disable_print=True, num_cols=2, exclude_namespaces=["ns"]),
        ]
        gym.register("D-v0", entry_point="m:E", max_episode_steps=3, order_enforce=False,
                     reward_threshold=1.5, nondeterministic=True, disable_env_checker=True,
                     additional_wrappers=(gym.wrappers.ClipReward.wrapper_spec(min_reward=0),),
                     kwargs={"a": 1})  # fmt: skip
        for spec in (gym.spec("A-v1"), gym.spec("D-v0")):
            for flags in ({}, {"print_all": True}, {"include_entry_points": True}):
                texts.append(spec.pprint(disable_print=True, **flags))
        return [text.replace("gymnasium.", "envwire.envs.") for text in texts]

    ours, theirs = both(script)
    assert ours == theirs


def test_pprint_prints(capsys):
    spec = EnvSpec("Toy-v0")
    assert spec.pprint() is None
    assert capsys.readouterr().out == "id=Toy-v0\n"


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"kwargs": {"a": [1, {"b": None}], "c": "ä"}, "max_episode_steps": 3},
        {"kwargs": {"a": (1, 2)}},
        {"entry_point": toy},
        {"kwargs": {"a": np.zeros(2)}},
        {"vector_entry_point": "m:V", "nondeterministic": True, "reward_threshold": 1.0},
    ],
    ids=["empty", "nested", "tuple", "callable", "array", "vector"],
)
def test_specs_go_through_json_alike(fields):
    def script(gym):
        spec = gym.envs.registration.EnvSpec("ns/Toy-v2", **{"entry_point": "m:E", **fields})
        text = outcome(spec.to_json)
        if isinstance(text, list):
            return text
        read = gym.envs.registration.EnvSpec.from_json(text)
        return json.loads(text), vars(read)

    assert script(envwire.envs) == script(gymnasium)


@pytest.mark.parametrize(
    "text",
    ['{"id": "Toy-v0", "additional_wrappers": [{"name": "x"}]}',
     '{"id": "Toy-v0", "additional_wrappers": [], "nonsense": 1}',
     '{"additional_wrappers": []}',
     "not json"],
)  # fmt: skip
def test_bad_json_is_a_value_error(text):
    for library in LIBRARIES:
        with pytest.raises(ValueError, match=r"."):
            library.envs.registration.EnvSpec.from_json(text)


def test_a_wrapper_can_be_resolved_without_importing():
    table = {"Scaled": Scaled}
    spec = WrapperSpec("Scaled", "no.such.module:Scaled", {"factor": 3})
    env = apply_wrapper(Walk(), spec, resolve=lambda entry: table[entry.partition(":")[2]])
    assert env.factor == 3
    with pytest.raises(ModuleNotFoundError):
        apply_wrapper(Walk(), spec)


def test_a_vectorisation_mode_that_is_not_there():
    with pytest.raises(ValueError, match="vectorization mode"):
        envwire.envs.make_vec("CartPole-v1", vectorization_mode="nonsense")


def vector_script(gym, env_id="CartPole-v1", **kwargs):
    env = gym.make_vec(env_id, **kwargs)
    spec = {**vars(env.spec)}
    return {
        "repr": repr(env),
        "kwargs": spec["kwargs"],
        "spaces": [repr(env.action_space), repr(env.observation_space)],
        "mode": env.metadata["autoreset_mode"].name,
        "again": repr(gym.make_vec(env.spec)),
    }


@pytest.mark.parametrize(
    "kwargs",
    [
        {},
        {"num_envs": 3},
        {"num_envs": 2, "vectorization_mode": "sync"},
        {"num_envs": 2, "sutton_barto_reward": True},
        {"num_envs": 2, "vectorization_mode": "sync", "max_episode_steps": 3},
        {"vectorization_mode": "sync", "vector_kwargs": {"copy": False}},
        {"vectorization_mode": "sync", "vector_kwargs": {"autoreset_mode": "SameStep"}},
        {"env_id": "Pendulum-v1", "num_envs": 2, "g": 3.0},
    ],
)
def test_make_vec_makes_the_same(kwargs):
    assert vector_script(envwire.envs, **kwargs) == vector_script(gymnasium, **kwargs)


@pytest.mark.parametrize(
    ("env_id", "kwargs"),
    [
        ("CartPole-v1", {"vector_kwargs": {"copy": False}}),
        ("CartPole-v1", {"wrappers": [lambda env: env]}),
        ("Pendulum-v1", {"vectorization_mode": "vector_entry_point"}),
        ("Nothing-v0", {}),
        (3, {}),
        ("CartPole-v1", {"nonsense": 1}),
    ],
)
def test_make_vec_refuses_the_same(env_id, kwargs):
    ours, theirs = (outcome(gym.make_vec, env_id, **kwargs) for gym in LIBRARIES)
    assert isinstance(ours, list)
    assert ours == theirs


def test_make_vec_warns_of_a_vector_env_without_an_autoreset_mode(gym):
    class Bare(gym.vector.VectorEnv):
        def __init__(self, num_envs):
            self.num_envs = num_envs

    gym.register("Bare-v0", vector_entry_point=Bare)
    with pytest.warns(UserWarning, match="utoreset"):
        gym.make_vec("Bare-v0")
    with pytest.raises(gym.error.Error):
        gym.make_vec("Bare-v0", vectorization_mode="sync")
