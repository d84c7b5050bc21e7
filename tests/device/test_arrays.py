"""Arrays of other libraries arrive as they are in a local environment: equal, and of the same or the chosen library."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import numpy as np
import pytest

from envwire.client import RemoteEnv, aio
from envwire.client.vector import RemoteVectorEnv
from tests.device.conftest import ID
from tests.device.hosted import Drift, Drifts
from tests.device.libraries import INSTALLED, Own, host, to

LIBRARIES = ["own", *INSTALLED]
MODES = ["NEXT_STEP", "SAME_STEP", "DISABLED"]
NATIVE = {"vectorization_mode": "vector_entry_point", "device": "host"}
STEPS = 12


def same(found: Any, expected: Any) -> bool:
    """Returns whether two values are equal bit for bit, whatever library their arrays are of."""
    found, expected = host(found), host(expected)
    if isinstance(expected, dict):
        return [*found] == [*expected] and all(same(found[key], expected[key]) for key in expected)
    if isinstance(expected, tuple):
        return len(found) == len(expected) and all(map(same, found, expected))
    if isinstance(expected, np.ndarray):
        return found.dtype == expected.dtype and found.tobytes() == expected.tobytes()
    return type(found) is type(expected) and found == expected


def actions(library: str, shape: tuple[int, ...]) -> Iterator[Any]:
    return actions_on("cpu", library, shape)


def actions_on(device: str, library: str, shape: tuple[int, ...]) -> Iterator[Any]:
    random = np.random.default_rng(7)
    for _ in range(STEPS):
        yield to(library, random.uniform(0, 0.5, shape).astype(np.float32), device)


def shares(env: Any) -> bool:
    """Returns whether the arrays of an environment pass through shared memory."""
    handle = env._shards[0].handle if hasattr(env, "_shards") else env._handle
    return bool(handle.driver.session._device.shares)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("library", LIBRARIES)
def test_a_vector_environment_is_as_a_local_one(target: str, library: str, mode: str) -> None:
    kwargs = {"library": library, "autoreset": mode}
    local = Drifts(5, **kwargs)
    with closing(RemoteVectorEnv(target, ID, 5, env_kwargs=kwargs, **NATIVE)) as env:
        assert env.metadata["autoreset_mode"].name == mode
        assert same(env.reset(seed=3), local.reset(seed=3))
        assert shares(env)
        for action in actions(library, (5, 3)):
            found, expected = env.step(action), local.step(action)
            assert same(found, expected)
            own = expected[:4] if library != "own" else [np.zeros(1)] * 4
            assert [type(each) for each in found[:4]] == [type(each) for each in own]
        mask = to(library, np.array([True, False, True, False, False]))
        if library != "own":
            mask = host(mask)
        options = [{"reset_mask": mask.copy() if library != "own" else host(mask)} for _ in "ab"]
        assert same(env.reset(options=options[0]), local.reset(options=options[1]))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("library", LIBRARIES)
def test_dictionaries_and_tuples_of_a_vector_are_as_local_ones(
    target: str, library: str, mode: str
) -> None:
    kwargs = {"library": library, "autoreset": mode, "nested": True}
    local = Drifts(5, **kwargs)
    with closing(RemoteVectorEnv(target, ID, 5, env_kwargs=kwargs, **NATIVE)) as env:
        assert same(env.reset(seed=3), local.reset(seed=3))
        for action in actions(library, (5, 3)):
            assert same(env.step(action), local.step(action))
        assert shares(env)


@pytest.mark.parametrize("library", LIBRARIES)
def test_dictionaries_and_tuples_hold_arrays_on_a_device(target: str, library: str) -> None:
    local = Drift(library)
    kwargs = {"library": library}
    with closing(RemoteEnv(target, ID, device="host", env_kwargs=kwargs)) as env:
        assert same(env.reset(seed=3), local.reset(seed=3))
        for action in actions(library, (3,)):
            assert same(env.step(action), local.step(action))
        assert shares(env)
        assert same(env.reset(seed=4), local.reset(seed=4))
        steps = env.step_many(list(actions(library, (3,)))[:3])
        assert all(map(same, steps, map(local.step, actions(library, (3,)))))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("nested", [False, True])
def test_asyncio_has_the_same(target: str, nested: bool, mode: str) -> None:
    kwargs = {"autoreset": mode, "nested": nested}
    local, vector = Drift(), Drifts(**kwargs)

    async def run() -> None:
        async with aio.RemoteEnv(target, ID, device="host") as env:
            assert same(await env.reset(seed=3), local.reset(seed=3))
            for action in actions("own", (3,)):
                assert same(await env.step(action), local.step(action))
            assert shares(env)
        async with aio.RemoteVectorEnv(target, ID, 4, env_kwargs=kwargs, **NATIVE) as envs:
            assert same(await envs.reset(seed=3), vector.reset(seed=3))
            for action in actions("own", (4, 3)):
                assert same(await envs.step(action), vector.step(action))
            masks = [{"reset_mask": np.array([True, False, True, False])} for _ in "ab"]
            assert same(await envs.reset(options=masks[0]), vector.reset(options=masks[1]))
            assert shares(envs)

    asyncio.run(run())


@pytest.mark.parametrize("transport", ["direct", "direct-tcp", "stream", "unary"])
@pytest.mark.parametrize("arrays", [None, "numpy", *INSTALLED])
def test_where_no_memory_is_shared_arrays_pass_through_the_host(
    target: str, transport: str, arrays: str | None
) -> None:
    local = Drifts()
    settings: dict[str, Any] = {"transport": transport, "arrays": arrays, **NATIVE}
    with closing(RemoteVectorEnv(target, ID, 4, **settings)) as env:
        assert same(env.reset(seed=3), local.reset(seed=3))
        for action in actions("own", (4, 3)):
            found = env.step(action)
            assert same(found, local.step(action))
            assert type(found[0]) is type(to(arrays or "numpy", np.zeros(1)))
        assert shares(env) is (transport == "direct")


def test_the_environment_gets_actions_of_its_own_library(target: str) -> None:
    for library in INSTALLED:
        kwargs = {"library": library}
        with closing(RemoteVectorEnv(target, ID, 4, env_kwargs=kwargs, **NATIVE)) as env:
            env.reset(seed=3)
            env.step(Own(np.zeros((4, 3), np.float32)))
            env.step(np.zeros((4, 3), np.float32))
            assert env.call("seen") == [
                type(to(library, np.zeros(1))).__module__.partition(".")[0],
                "numpy",
            ]


def test_arrays_that_are_not_packed_are_sent(target: str) -> None:
    class Columns(Own):
        """An array whose elements are not in C order."""

        def __getitem__(self, index: Any) -> Columns:
            return self

        def copy(self, order: str) -> Own:
            return Own(np.ascontiguousarray(self._array))

    action = Columns(np.zeros(1))
    action._array = np.arange(12, dtype=np.float32).reshape(3, 4).T
    local = Drifts()
    with closing(RemoteVectorEnv(target, ID, 4, **NATIVE)) as env:
        assert same(env.reset(seed=3), local.reset(seed=3))
        assert same(env.step(action), local.step(Own(action._array)))


def test_copies_never_change_and_views_last_until_the_next_call(target: str) -> None:
    for copy in (True, False):
        with closing(RemoteVectorEnv(target, ID, 4, copy=copy, **NATIVE)) as env:
            kept = [env.reset(seed=3)[0]]
            was = [np.array(kept[0])]
            for action in actions("own", (4, 3)):
                kept.append(env.step(action)[0])
                was.append(np.array(kept[-1]))
            unchanged = [same(*each) for each in zip(kept, was, strict=True)]
            assert unchanged == ([True] * len(kept) if copy else [False] * STEPS + [True])


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"device": "gpu"}, "device='gpu' is no device"),
        ({"device": 0}, "device=0 is no device"),
        ({"device": "host", "arrays": "tensorflow"}, "unknown arrays='tensorflow'; choose one of"),
        ({"arrays": "numpy"}, "arrays= and copy= need device="),
        ({"copy": False}, "arrays= and copy= need device="),
        ({"device": "host", "sessions": 2}, "sessions=2 with device="),
        ({"device": "host", "on_lost": "truncate"}, "on_lost='truncate' with device="),
    ],
)
def test_arguments_are_checked(target: str, settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        RemoteVectorEnv(target, ID, 4, **settings)
