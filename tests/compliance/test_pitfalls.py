"""Known pitfalls of carrying the Env API over a wire, one test each; `docs/gymnasium.md` lists them all."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest

from envwire.client import InvalidRequestError, NotAllowedError
from envwire.client.gymnasium import RemoteEnv
from envwire.codec import Opaque
from envwire.server import Server
from envwire.testing.comparing import identical
from tests.compliance.pitfall_envs import Columns, Particular, Tensor
from tests.secured import Guard

pytestmark = pytest.mark.filterwarnings("default")

ROOT = str(Path(__file__).parent.parent.parent)
INTERNALS = "tests.compliance.pitfall_envs:Internals"

#: Makes a proxy of an id; it is closed after the test.
Make = Callable[..., Any]


@pytest.fixture(scope="module")
def trap(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory on the server's path with a module that leaves a mark when it is imported."""
    directory = tmp_path_factory.mktemp("trap")
    (directory / "trap.py").write_text(
        "open(__file__ + '.sprung', 'w').close()\nEnv = Wrapper = dict\n"
    )
    return directory


@pytest.fixture(scope="module")
def host(trap: Path, guard: Guard) -> Iterator[Server]:
    with Server(
        ["pitfalls/*", "CartPole-v1", "FrozenLake-v1"],
        imports=["tests.compliance.pitfall_envs"],
        allow_wrappers=[INTERNALS],
        sys_path=(ROOT, str(trap)),
        **guard.settings,
    ) as running:
        yield running


@pytest.fixture
def make(host: Server, transport: str) -> Iterator[Make]:
    assert transport
    opened: list[Any] = []

    def make(env_id: str, **kwargs: Any) -> Any:
        opened.append(RemoteEnv(host.target, env_id, **kwargs))
        return opened[-1]

    yield make
    for env in opened:
        env.close()


def test_p02_a_proxy_is_made_again_from_its_spec(make: Make) -> None:
    env = make("CartPole-v1", wrappers=[("TimeAwareObservation", {})])
    assert not isinstance(env.spec.entry_point, type), "a class would be asked for its metadata"
    for mode in env.metadata["render_modes"]:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            again = gymnasium.make(env.spec, render_mode=mode)
        assert again.render_mode == mode
        assert again.observation_space == env.observation_space, "wrapped once, on the server"
        again.close()


def test_p04_arrays_are_fresh_writable_native_and_contiguous(make: Make) -> None:
    env = make("pitfalls/Reused-v0", render_mode="rgb_array")
    observation, info = env.reset(seed=0)
    seen = [(observation, info["swapped"], info["frozen"], env.render())]
    for _ in range(3):
        observation, *_, info = env.step(0)
        seen.append((observation, info["swapped"], info["frozen"], env.render()))
    arrays = [array for row in seen for array in row]
    assert all(array.flags.c_contiguous and array.flags.writeable for array in arrays)
    assert all(array.dtype.isnative for array in arrays)
    assert not any(
        np.shares_memory(one, other) for one in arrays for other in arrays if one is not other
    )
    # Each holds what it was when it was returned, although the environment has long written over it.
    assert [row[0][0, 0] for row in seen] == [0, 1, 2, 3]
    assert [row[1][0] for row in seen] == [0, 1, 2, 3]
    assert [row[3][0, 0, 0] for row in seen] == [1, 2, 3, 4]


def test_p07_seeding_the_environment_leaves_its_spaces_alone(make: Make) -> None:
    env, local = make("CartPole-v1"), gymnasium.make("CartPole-v1")
    space = env.action_space
    draws = []
    for made in (env, local):
        made.action_space.seed(1)
        first = [int(made.action_space.sample()) for _ in range(20)]
        made.action_space.seed(1)
        made.reset(seed=99)
        draws.append((first, [int(made.action_space.sample()) for _ in range(20)]))
    assert draws[0][0] == draws[0][1]
    assert draws[0] == draws[1]
    assert env.action_space is space


def test_p08_what_has_no_wire_form_breaks_no_step(make: Make) -> None:
    env = make("pitfalls/Talkative-v0")
    env.reset()
    info = env.step(0)[4]
    assert list(info) == ["lambda", "generator", "module", "enum", "rng", "nested", "plain"]
    for name in ("lambda", "generator", "module", "enum", "rng"):
        assert isinstance(info[name], Opaque), name
    assert "RED" in info["enum"].text
    assert identical(info["plain"], (1, np.int64(2)))
    assert env.step(0)[0] == 2


@pytest.mark.parametrize("shape", [(), (1,)])
@pytest.mark.parametrize("reward", ["tensor", "decimal"])
def test_p08_arrays_of_other_libraries_are_what_they_stand_for(
    make: Make, shape: tuple[int, ...], reward: str
) -> None:
    kwargs: dict[str, Any] = {"shape": shape, "reward": reward}
    env, local = (
        make("pitfalls/Tensors-v0", **kwargs),
        gymnasium.make("pitfalls/Tensors-v0", **kwargs),
    )
    first, local_first = env.reset(seed=1), local.reset(seed=1)
    assert identical(first, (np.asarray(local_first[0]), {"tensor": np.arange(2)}))
    action = Tensor(np.array([0.25, 0.5], np.float32))
    for number in range(1, 6):
        taken, expected = env.step(action), local.step(action)
        assert identical(taken[0], np.asarray(expected[0]))
        assert np.asarray(taken[1]).item() == np.asarray(expected[1]).item()
        assert list(map(bool, taken[2:4])) == list(map(bool, expected[2:4])) == [number == 5, False]


def test_p08_a_reward_without_a_value_is_an_error_that_names_it(make: Make) -> None:
    env = make("pitfalls/Tensors-v0", reward="opaque")
    env.reset(seed=1)
    with pytest.raises(InvalidRequestError, match=r"reward is a builtins\.object"):
        env.step(np.zeros(2, np.float32))


def test_p08_nothing_of_a_client_is_unpickled(make: Make) -> None:
    env = make("pitfalls/Talkative-v0")
    pickled = b"cos\nsystem\n(S'exit 1'\ntR."
    assert env.reset(options={"bytes": pickled})[1] == {"options": {"bytes": pickled}}
    with pytest.raises(InvalidRequestError, match=r'options\["object"\]'):
        env.reset(options={"object": object()})


def test_only_unary_calls_cut_long_texts_of_exceptions(make: Make) -> None:
    env, unary = make("pitfalls/Particular-v0"), make("pitfalls/Particular-v0", transport="unary")
    for asked in (env, unary):
        asked.reset()
    with pytest.raises(ValueError, match="ü") as whole:
        env.step(0)
    assert whole.value.args == (Particular.TEXT,)
    with pytest.raises(ValueError, match="ü") as cut:
        unary.step(0)
    (text,) = cut.value.args
    assert text.endswith("...")
    assert Particular.TEXT.startswith(text[:-3])
    assert 500 < len(text.encode()) <= 600


@pytest.mark.skipif(
    not hasattr(gymnasium.Wrapper, "set_wrapper_attr"), reason="Gymnasium has it since 1.0"
)
def test_p10_attributes_are_set_where_they_are(make: Make) -> None:
    env = make("pitfalls/Talkative-v0")
    env.reset()
    env.unwrapped.steps = 41
    assert env.step(0)[0] == 42
    env.steps += 8
    assert (env.step(0)[0], env.steps) == (51, 51)
    assert env.set_wrapper_attr("steps", 41)
    assert env.step(0)[0] == 42
    with pytest.raises(InvalidRequestError, match="steps"):
        env.unwrapped.steps = lambda: 1  # cannot be sent
    assert callable(env.get_wrapper_attr("step"))
    with pytest.raises(AttributeError):
        env.no_such_attribute  # noqa: B018 - no layer has it


def test_p10_what_no_layer_has_stays_here_and_says_so(make: Make) -> None:
    env = make("pitfalls/Talkative-v0")
    with pytest.warns(UserWarning, match=r"no attribute 'stepz' on the server.*set_wrapper_attr"):
        env.unwrapped.stepz = 41
    assert env.stepz == 41
    with pytest.raises(AttributeError, match="stepz"):
        env._call_method("stepz")
    env.metadata = {"render_fps": 7}
    env.action_space = gymnasium.spaces.Discrete(3)
    assert env.get_wrapper_attr("action_space") == env.action_space, "the proxy's own"


def test_p10_curriculum_of_a_local_environment(make: Make) -> None:
    local, remote = gymnasium.make("CartPole-v1"), make("CartPole-v1")
    for env in (local, remote):
        env.reset(seed=3)
        env.unwrapped.gravity = 0.1
        env.unwrapped._sutton_barto_reward = True
    assert remote.gravity == 0.1
    assert remote.unwrapped._sutton_barto_reward is True
    assert identical([remote.step(1) for _ in range(20)], [local.step(1) for _ in range(20)])
    assert remote._max_episode_steps == local._max_episode_steps
    remote._max_episode_steps = 22
    assert [remote.step(0)[3] for _ in range(2)] == [False, True]


def test_p10_a_subclass_keeps_what_it_declares(host: Server, transport: str) -> None:
    assert transport

    class Summing(RemoteEnv):
        total = 0.0

        def __init__(self, *args: Any) -> None:
            self.early = 1
            super().__init__(*args)

    env = Summing(host.target, "CartPole-v1")
    env.total += 2.0
    env.early += 1
    assert (vars(env)["total"], vars(env)["early"]) == (2.0, 2)
    env.close()


def test_p11_wrappers_that_need_the_inside_belong_on_the_server(make: Make) -> None:
    from tests.compliance.pitfall_envs import Internals

    outside = Internals(make("pitfalls/Reused-v0"))  # reads
    outside.reset()
    with pytest.raises(ValueError, match="read-only"):
        outside.step(0)  # writes
    env = make("pitfalls/Reused-v0", wrappers=[(INTERNALS, {})])
    env.reset()
    assert np.array_equal(env.step(0)[0], np.full((2, 3), 8.0))


def test_p14_no_side_resets_by_itself_and_one_side_limits(host: Server, make: Make) -> None:
    env = make("pitfalls/Talkative-v0")
    env.reset()
    assert [env.step(0)[:3] for _ in range(4)] == [
        (1, 0.0, False),
        (2, 0.0, True),
        (3, 0.0, True),
        (4, 0.0, True),
    ]
    made = gymnasium.make("envwire/Remote-v0", target=host.target, env_id="CartPole-v1")
    assert isinstance(made, RemoteEnv), "the checks, the order and the limit are the server's"
    made.close()


def test_p15_warnings_of_the_server_reach_the_caller(make: Make) -> None:
    with pytest.warns(UserWarning, match="^made$"):
        env = make("pitfalls/Talkative-v0")
    with pytest.warns(RuntimeWarning, match="^reset$"):
        env.reset()
    with pytest.warns(DeprecationWarning, match="^step$"):
        env.step(0)


def test_p16_columns_without_masks_stay_as_they_are(make: Make) -> None:
    env = make("pitfalls/Columns-v0")
    assert identical(env.reset()[1], Columns.columns())
    assert identical(env.step(0)[4], Columns.columns())


@pytest.mark.parametrize("name", ["trap:CartPole-v1", "trap:Env", "os:system"])
def test_p17_a_name_from_a_client_is_never_imported(make: Make, trap: Path, name: str) -> None:
    with pytest.raises(gymnasium.error.Error):
        make(name)
    with pytest.raises(NotAllowedError):
        make("CartPole-v1", wrappers=[(name, {})])
    assert [path.name for path in trap.iterdir() if path.is_file()] == ["trap.py"]


def test_p17_a_name_from_a_server_is_not_imported_either(make: Make) -> None:
    env = make("CartPole-v1", wrappers=[("TimeAwareObservation", {})])
    own = "envwire.client.gymnasium:make_remote"
    assert env.spec.entry_point == own or callable(env.spec.entry_point), "this library's"
    assert env.spec.vector_entry_point is None
    assert env.spec.additional_wrappers == ()
