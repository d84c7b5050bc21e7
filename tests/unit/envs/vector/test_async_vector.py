"""Sub-environments in separate processes behave as in this process."""

import gc
import multiprocessing
import os
import pickle
import time

import numpy as np
import pytest

import envwire.envs as gym
from envwire.envs import spaces
from envwire.envs.error import AlreadyPendingCallError, ClosedEnvironmentError, NoAsyncCallError
from envwire.envs.vector import AsyncVectorEnv, SyncVectorEnv
from envwire.testing.comparing import identical as same
from tests.unit.envs.toys import Walk

#: Forking is not safe in a process with threads, which other tests have.
CONTEXT = "forkserver"
multiprocessing.get_context(CONTEXT).set_forkserver_preload([__name__])


class Troubled(Walk):
    """Does what its action says."""

    def __init__(self):
        super().__init__()
        self.action_space = spaces.Discrete(5)

    def step(self, action):
        if action == 1:
            raise KeyError("the simulator broke")
        if action == 2:
            os._exit(7)
        if action == 3:
            time.sleep(30)
        return super().step([0.5])

    def local_function(self):
        return lambda: None

    def local_error(self):
        class LocalError(Exception):
            def __init__(self, one, two):
                super().__init__(f"{one} {two}")

        raise LocalError("not", "portable")


class Ending(Troubled):
    """Ends an episode wherever its action says so."""

    def step(self, action):
        observation, reward, _, truncated, info = super().step(0)
        return observation, reward, bool(action), truncated, info


class Broken(Walk):
    made = 0

    def __init__(self):
        type(self).made += 1
        if multiprocessing.parent_process() is not None:
            raise ValueError("cannot be made here")
        super().__init__()


@pytest.fixture
def make():
    """Makes vector environments and ends their processes."""
    made = []

    def make(*env_fns, **kwargs):
        made.append(AsyncVectorEnv(env_fns, context=CONTEXT, **kwargs))
        return made[-1]

    yield make
    for envs in made:
        envs.close(terminate=True)
        assert not any(process.is_alive() for process in envs.processes)


@pytest.mark.parametrize(
    ("mode", "kwargs"),
    [
        ("NextStep", {}),
        ("SameStep", {"shared_memory": False}),
        ("Disabled", {"max_concurrency": 1, "copy": False}),
    ],
)
def test_rollouts_are_those_of_one_process(make, mode, kwargs):
    asynchronous = make(Walk, Walk, autoreset_mode=mode, **kwargs)
    synchronous = SyncVectorEnv([Walk, Walk], autoreset_mode=mode)
    assert str(asynchronous.observation_space) == str(synchronous.observation_space)
    assert asynchronous.metadata == synchronous.metadata
    assert same(asynchronous.reset(seed=3), synchronous.reset(seed=3))
    assert asynchronous.np_random_seed == (3, 4)
    synchronous.action_space.seed(1)
    for _ in range(40):
        actions = synchronous.action_space.sample()
        ours, theirs = asynchronous.step(actions), synchronous.step(actions)
        assert same(ours, theirs)
        done = ours[2] | ours[3]
        if mode == "Disabled" and done.any():
            resets = [
                envs.reset(options={"reset_mask": done}) for envs in (asynchronous, synchronous)
            ]
            assert same(*resets)


def test_make_vec_makes_them():
    envs = gym.make_vec(
        "FrozenLake-v1", 2, vectorization_mode="async", vector_kwargs={"context": CONTEXT}
    )
    try:
        theirs = gym.make_vec("FrozenLake-v1", 2, vectorization_mode="sync")
        assert same(envs.reset(seed=1), theirs.reset(seed=1))
        assert envs.spec.kwargs["vectorization_mode"] == "async"
        assert str(envs) == "AsyncVectorEnv(FrozenLake-v1, num_envs=2)"
    finally:
        envs.close()


def test_attributes_methods_and_frames(make):
    envs = make(Walk, Walk)
    envs.set_attr("goal", [1.0, 2.0])
    assert envs.get_attr("goal") == envs.call("get_wrapper_attr", "goal") == (1.0, 2.0)
    envs.set_attr("render_mode", "ansi")
    envs.reset(seed=1)
    assert [type(frame) for frame in envs.render()] == [str, str]
    assert len({rng.random() for rng in envs.np_random}) == 2
    with pytest.raises(ValueError, match="vector environment itself"):
        envs.call("reset")
    with pytest.raises(ValueError, match="2 values"):
        envs.set_attr("goal", [1.0])
    with pytest.raises(AttributeError, match="nothing"):
        envs.get_attr("nothing")


def test_both_halves_of_a_call(make):
    envs = make(Troubled)
    for wait in (envs.reset_wait, envs.step_wait, envs.call_wait):
        with pytest.raises(NoAsyncCallError, match="before"):
            wait()
    envs.reset(seed=1)
    envs.step_async(np.array([0]))
    for begin in (
        lambda: envs.step_async(np.array([0])),
        envs.reset_async,
        lambda: envs.call_async("goal"),
        lambda: envs.set_attr("goal", 1.0),
    ):
        with pytest.raises(AlreadyPendingCallError) as info:
            begin()
        assert info.value.name == "step"
    assert envs.step_wait(timeout=20)[4]["t"].tolist() == [1]
    envs.step_async(np.array([3]))
    with pytest.raises(multiprocessing.TimeoutError, match="step"):
        envs.step_wait(timeout=0.01)
    with pytest.warns(UserWarning, match="pending"):
        envs.close(timeout=0.01)
    envs.close()
    with pytest.raises(ClosedEnvironmentError):
        envs.step(np.array([0]))
    with pytest.raises(ClosedEnvironmentError):
        envs.step_wait()


def test_disabled_leaves_ended_episodes_to_the_caller(make):
    envs = make(Ending, Ending, autoreset_mode="Disabled")
    envs.reset(seed=1)
    for _ in range(3):
        assert envs.step(np.array([0, 1]))[2].tolist() == [False, True]


@pytest.mark.parametrize("terminate", [False, True])
def test_closing_warns_of_what_was_begun(make, terminate):
    envs = make(Troubled)
    envs.reset(seed=1)
    envs.step_async(np.array([3 if terminate else 0]))
    with pytest.warns(UserWarning, match="pending"):
        envs.close(terminate=terminate)
    assert (envs.processes[0].exitcode == 0) is not terminate


def test_an_exception_is_raised_here_and_leaves_the_environments(make):
    envs = make(Troubled, Troubled)
    envs.reset(seed=1)
    with pytest.raises(KeyError, match="simulator broke") as info:
        envs.step(np.array([1, 0]))
    assert "in step" in str(info.value.__cause__)
    assert envs.step(np.array([0, 0]))[4]["t"].tolist() == [1, 2]
    with pytest.raises(RuntimeError, match="LocalError: not portable") as info:
        envs.call("local_error")
    told = str(info.value.__cause__)
    assert all(f"In sub-environment {index}:\nTraceback" in told for index in range(2))


def test_a_result_that_cannot_be_pickled_is_an_exception_and_leaves_the_environments(make):
    envs = make(Troubled, Troubled)
    envs.reset(seed=1)
    with pytest.raises((AttributeError, pickle.PicklingError), match="local object"):
        envs.call("local_function")
    assert envs.step(np.array([0, 0]))[4]["t"].tolist() == [1, 1]


def test_a_process_that_dies_is_told(make):
    envs = make(Troubled, Troubled)
    envs.reset(seed=1)
    with pytest.raises(RuntimeError, match="sub-environment 1 ended: 7"):
        envs.step(np.array([0, 2]))
    assert envs.closed


@pytest.mark.parametrize(
    "call",
    [
        lambda envs: envs.step(np.array([0, 0])),
        lambda envs: envs.reset(),
        lambda envs: envs.set_attr("goal", 1.0),
        lambda envs: envs.close(),
    ],
)
def test_a_process_that_died_between_two_calls_is_told_and_all_is_closed(make, call):
    envs = make(Troubled, Troubled)
    envs.reset(seed=1)
    envs.processes[1].kill()
    envs.processes[1].join()
    with pytest.raises(
        RuntimeError, match=f"sub-environment 1 ended: {envs.processes[1].exitcode}"
    ):
        call(envs)
    assert envs.closed
    assert not envs.processes[0].is_alive()


def test_what_was_begun_in_a_process_that_died_does_not_keep_the_others_from_ending(make):
    envs = make(Troubled, Troubled)
    envs.reset(seed=1)
    envs.step_async(np.array([0, 2]))
    with pytest.warns(UserWarning, match="pending"):
        envs.close()
    assert envs.closed


@pytest.mark.parametrize(
    "call",
    [
        lambda envs: envs.step(np.array([0])),
        lambda envs: envs.step(np.array([0, 0, 0])),
        lambda envs: envs.set_attr("goal", [1.0, lambda: None]),
    ],
)
def test_a_call_that_cannot_be_sent_to_all_is_sent_to_none(make, call):
    envs = make(Troubled, Troubled)
    envs.reset(seed=1)
    with pytest.raises((ValueError, AttributeError, pickle.PicklingError)):
        call(envs)
    assert envs.get_attr("goal") == SyncVectorEnv([Troubled] * 2).get_attr("goal")
    assert envs.step(np.array([0, 0]))[4]["t"].tolist() == [1, 1]


def test_what_does_not_go_together_is_refused(make):
    with pytest.raises(RuntimeError, match="action space of sub-environment 1"):
        make(Walk, Troubled)
    with pytest.raises(ValueError, match="cannot be made here"):
        make(Broken)
    for wrong in (0, 1.5, "2"):
        with pytest.raises(ValueError, match="max_concurrency"):
            make(Walk, max_concurrency=wrong)


def test_a_function_that_cannot_be_sent_leaves_no_process():
    before = set(multiprocessing.active_children())
    with pytest.raises(TypeError, match="pickle"):
        AsyncVectorEnv([Walk, Unsendable()], context=CONTEXT)
    assert set(multiprocessing.active_children()) == before
    gc.collect()  # what `__del__` raised would fail the test


class Unsendable:
    def __call__(self):
        return Walk()

    def __reduce__(self):
        raise TypeError("cannot pickle this")


def test_spaces_without_a_fixed_size_go_through_the_pipe(make):
    with pytest.raises(TypeError, match="dynamic shape"):
        make(Listing)
    observation, _ = make(Listing, shared_memory=False).reset(seed=1)
    assert observation in SyncVectorEnv([Listing]).observation_space


class Listing(gym.Env):
    action_space = spaces.Discrete(2)
    observation_space = spaces.Sequence(spaces.Discrete(3))

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return (1, 2), {}
