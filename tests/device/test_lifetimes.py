"""Shared memory of a device is freed with its session, and when either side dies; losses are recovered as ever."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from envwire.client import RemoteEnv
from envwire.client.errors import RemoteError
from envwire.client.vector import RemoteVectorEnv
from envwire.device.dlpack import _given
from envwire.server import Server
from tests.device.conftest import ID, SETTINGS
from tests.device.hosted import Drift, Drifts
from tests.device.libraries import INSTALLED, to
from tests.device.test_arrays import NATIVE, actions, same, shares
from tests.faults.scene import (
    address_space,
    eventually,
    files_named,
    files_of,
    kill_sessions,
    resident_bytes,
    sessions_of,
)
from tests.operations.test_http_port import Port

#: `ENVWIRE_MAKES=1000` is the long form.
MAKES = int(os.environ.get("ENVWIRE_MAKES", "15"))
KILLS = int(os.environ.get("ENVWIRE_KILLS", "3"))


def shared(pid: int | str = "self") -> int:
    """Returns how often a process has mapped, or holds a descriptor of, shared memory of a device."""
    name = "/memfd:envwire-device"
    return files_named(pid, name) + address_space(pid).count(name)


def usage(*pids: int | str) -> list[tuple[int, int, int]]:
    """Returns each process's descriptors, mappings of memory without a name, and resident megabytes."""
    return [
        (len(files_of(pid)), address_space(pid).count("/memfd:"), resident_bytes(pid) // 2**20)
        for pid in pids
    ]


def flat(before: list[tuple[int, int, int]], now: list[tuple[int, int, int]]) -> bool:
    """Returns whether nothing was left: no descriptor, no mapping, and no memory but what allocators keep."""
    return all(
        found <= descriptors and mapped <= maps and megabytes < most + 24
        for (descriptors, maps, most), (found, mapped, megabytes) in zip(before, now, strict=True)
    )


@pytest.fixture(scope="module")
def packed() -> Iterator[Server]:
    """A server whose sessions share a process, which outlives each."""
    with ExitStack() as stack:
        server = stack.enter_context(
            Server(["device/*"], sessions_per_process=16, lease=1.0, **SETTINGS)
        )
        stack.enter_context(closing(RemoteEnv(server.target, ID)))
        yield server


@pytest.fixture(scope="module")
def alone() -> Iterator[Server]:
    """A server whose sessions have a process each, to be killed."""
    with Server(["device/*"], **SETTINGS) as server:
        yield server


@pytest.mark.parametrize("library", ["own", *INSTALLED])
def test_makes_and_closes_leave_nothing(packed: Server, library: str) -> None:
    kwargs = {"library": library}
    action = to(library, [[0.0] * 3] * 4)
    processes = "self", packed.pid, *sessions_of(packed)

    def play() -> None:
        with closing(RemoteVectorEnv(packed.target, ID, 4, env_kwargs=kwargs, **NATIVE)) as env:
            env.reset(seed=3)
            env.step(action)
            assert shares(env)
            assert shared(processes[-1]) > 0

    play()  # which imports the library, here and there
    gc.collect()
    assert eventually(lambda: shared(processes[-1]) == 0)
    before, given = usage(*processes), len(_given)
    for _ in range(MAKES):
        play()
    gc.collect()
    assert len(_given) <= given
    assert eventually(lambda: flat(before, usage(*processes)))
    assert shared(processes[-1]) == shared() == 0


_CLIENT = """
import sys
from envwire.client.vector import RemoteVectorEnv
env = RemoteVectorEnv(sys.argv[1], "device/Drift-v0", 4, vectorization_mode="vector_entry_point", device="host")
observation, _ = env.reset(seed=3)
action = env.action_space.sample()
print("ready", flush=True)
while True:
    observation = env.step(action)[0]
"""


def test_a_killed_client_leaves_nothing(packed: Server) -> None:
    (process,) = sessions_of(packed)
    for _ in range(KILLS):
        client = subprocess.Popen(
            [sys.executable, "-c", _CLIENT, packed.target],
            stdout=subprocess.PIPE,
            stdin=subprocess.PIPE,
        )
        assert client.stdout is not None
        assert client.stdout.readline() == b"ready\n"
        assert shared(process) > 0
        os.kill(client.pid, signal.SIGKILL)  # in a step
        client.communicate()
        assert eventually(lambda: shared(process) == 0)


def test_a_killed_environment_leaves_arrays_readable_and_nothing_else(target: str) -> None:
    before = shared()
    with closing(RemoteVectorEnv(target, ID, 4, copy=False, **NATIVE)) as env:
        expected, _ = Drifts().reset(seed=3)
        for _ in range(KILLS):
            observation = env.reset(seed=3)[0]
            with pytest.raises(RemoteError):
                env.call("die")
            assert same(observation, expected)
            with pytest.raises(RemoteError):
                env.step(to("own", [[0.0] * 3] * 4))
            del observation
    gc.collect()
    assert shared() <= before


def test_an_environment_that_dies_in_a_step_leaves_nothing(target: str) -> None:
    before = shared()
    kwargs = {"last_step": 2}
    action = to("own", [[0.0] * 3] * 4)
    with closing(RemoteVectorEnv(target, ID, 4, env_kwargs=kwargs, **NATIVE)) as env:
        local = Drifts()
        for _ in range(KILLS):
            assert same(env.reset(seed=3), local.reset(seed=3))
            kept, expected = env.step(action), local.step(action)
            with pytest.raises(RemoteError):
                env.step(action)
            assert same(kept, expected)
    del kept
    gc.collect()
    assert shared() <= before


def test_a_server_tells_how_much_memory_of_devices_is_shared() -> None:
    port, name = Port(), "envwire_device_memory_bytes"
    with Server(["device/*"], http_port=port.number, **SETTINGS) as server:
        assert port.metrics()[name] == 0
        with closing(RemoteVectorEnv(server.target, ID, 4, **NATIVE)) as env:
            memory = env._shards[0].handle.driver.session._device._shared.memory
            assert port.metrics()[name] == memory.size > 0
        port.soon(lambda found: found[name] == 0)


def test_arrays_outlive_their_environment(target: str) -> None:
    env = RemoteVectorEnv(target, ID, 4, copy=False, **NATIVE)
    observation, _ = env.reset(seed=3)
    env.close()
    del env
    gc.collect()
    assert same(observation, Drifts().reset(seed=3)[0])


def test_a_broken_connection_is_resumed_with_the_same_memory(target: str) -> None:
    local = Drifts()
    with closing(RemoteVectorEnv(target, ID, 4, **NATIVE)) as env:
        assert same(env.reset(seed=3), local.reset(seed=3))
        for index, action in enumerate(actions("own", (4, 3))):
            if index % 3 == 1:
                env._shards[0].handle.driver.transport._channel.shut_down()
            assert same(env.step(action), local.step(action))
            assert shares(env)
        assert env.connection_stats.resumed == 4


@pytest.mark.parametrize("library", ["own", *INSTALLED])
def test_lost_environments_are_replayed_with_equal_digests(alone: Server, library: str) -> None:
    kwargs: dict[str, Any] = {"library": library}
    options: dict[str, Any] = {**NATIVE, "on_lost": "replay", "env_kwargs": kwargs}
    local = Drifts(200, library)
    with closing(RemoteVectorEnv(alone.target, ID, 200, **options)) as env:
        assert same(env.reset(seed=3), local.reset(seed=3))
        for index, action in enumerate(actions(library, (200, 3))):
            if index == 5:
                kill_sessions(alone)
            assert same(env.step(action), local.step(action))
        assert env.connection_stats.recovered == 1


def test_a_single_environment_that_was_lost_is_replayed(alone: Server) -> None:
    local = Drift()
    with closing(RemoteEnv(alone.target, ID, device="host", on_lost="replay")) as env:
        assert same(env.reset(seed=3), local.reset(seed=3))
        for index, action in enumerate(actions("own", (3,))):
            if index == 5:
                kill_sessions(alone)
            assert same(env.step(action), local.step(action))
        assert env.connection_stats.recovered == 1


def test_a_server_records_arrays_on_a_device(tmp_path: Path) -> None:
    action = np.array([0.25, 0.5, 0.75], np.float32)
    with (
        Server(["device/*"], record=str(tmp_path), **SETTINGS) as server,
        closing(RemoteEnv(server.target, ID, device="host")) as env,
    ):
        env.reset(seed=3)
        observation, *_ = env.step(to("own", action))
        assert shares(env)
    (file,) = tmp_path.iterdir()
    recorded = file.read_bytes()
    assert observation["a"].tobytes() in recorded
    assert action.tobytes() in recorded
