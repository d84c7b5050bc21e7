"""On a GPU with CUDA: arrays of torch, JAX and CuPy stay there. `make test-cuda` says why they are skipped."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, closing
from importlib.util import find_spec
from typing import Any

import numpy as np
import pytest

from envwire.client import RemoteEnv
from envwire.client.errors import RemoteError
from envwire.client.vector import RemoteVectorEnv
from envwire.device.device_memory import DeviceError
from envwire.device.devices import allocate, identify, import_memory
from envwire.server import Server
from tests.device.conftest import ID, SETTINGS
from tests.device.hosted import Drift, Drifts
from tests.device.libraries import host, to
from tests.device.test_arrays import MODES, actions_on, same, shares

# JAX would otherwise take most of the memory for itself, in each process.
os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

NATIVE = {"vectorization_mode": "vector_entry_point", "device": "cuda:0"}
LIBRARIES = [name for name in ("torch", "jax", "cupy") if find_spec(name) is not None]


def missing() -> str:
    """Returns why memory of a GPU cannot be shared here; empty if it can."""
    try:
        allocate(identify("cuda:0"), 1)
    except DeviceError as error:
        return str(error)
    return "" if LIBRARIES else "neither torch, JAX nor CuPy is installed"


pytestmark = pytest.mark.skipif(bool(missing()), reason=f"no GPU to test on: {missing()}")


@pytest.fixture(scope="module")
def gpu() -> Iterator[str]:
    """The address of a server whose sessions share a process, so that few of them start a driver."""
    settings = {**SETTINGS, "sessions_per_process": 8, "step_timeout": 60.0}
    with ExitStack() as stack:
        server = stack.enter_context(Server(["device/*"], **settings))
        stack.enter_context(
            closing(RemoteEnv(server.target, ID))
        )  # so that the process does not end
        yield server.target


def used() -> int:
    """Returns the bytes of the GPU's memory that all processes use."""
    from cuda.bindings import driver

    from envwire.device.cuda_memory import _checked, _context, _current

    with _current(_context(0)):
        free, total = _checked(driver.cuMemGetInfo())
    return int(total - free)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("library", LIBRARIES)
def test_a_vector_environment_is_as_a_local_one(gpu: str, library: str, mode: str) -> None:
    kwargs = {"library": library, "autoreset": mode, "device": "cuda"}
    local = Drifts(64, **kwargs)
    with closing(RemoteVectorEnv(gpu, ID, 64, env_kwargs=kwargs, **NATIVE)) as env:
        assert same(env.reset(seed=3), local.reset(seed=3))
        assert shares(env)
        for action in actions_on("cuda", library, (64, 3)):
            found, expected = env.step(action), local.step(action)
            assert same(found, expected)
            assert [type(each) for each in found[:4]] == [type(each) for each in expected[:4]]
            assert found[0].__dlpack_device__() == expected[0].__dlpack_device__()
        assert env.call("seen")[-1] == local.seen[-1]


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("arrays", LIBRARIES)
def test_libraries_meet(gpu: str, library: str, arrays: str) -> None:
    kwargs = {"library": library, "device": "cuda"}
    local = Drift(library, "cuda")
    with closing(RemoteEnv(gpu, ID, device="cuda", arrays=arrays, env_kwargs=kwargs)) as env:
        assert same(env.reset(seed=3), local.reset(seed=3))
        for action in actions_on("cuda", arrays, (3,)):
            found = env.step(action)
            assert same(found, local.step(to(library, host(action), "cuda")))
            assert type(found[0]["a"]) is type(to(arrays, np.zeros(1), "cuda"))


def test_copies_never_change(gpu: str) -> None:
    kwargs = {"library": LIBRARIES[0], "device": "cuda", "width": 4096}
    local = Drifts(64, **kwargs)
    with closing(RemoteVectorEnv(gpu, ID, 64, env_kwargs=kwargs, **NATIVE)) as env:
        found, expected = [env.reset(seed=3)], [local.reset(seed=3)]
        for action in actions_on("cuda", LIBRARIES[0], (64, 4096)):
            found.append(env.step(action))
            expected.append(local.step(action))
        assert all(map(same, found, expected))


@pytest.mark.parametrize("transport", ["direct-tcp", "stream"])
@pytest.mark.parametrize("arrays", [None, LIBRARIES[0] if LIBRARIES else None])
def test_other_connections_pass_through_the_host(
    gpu: str, transport: str, arrays: str | None
) -> None:
    kwargs = {"library": LIBRARIES[0], "device": "cuda"}
    local = Drifts(4, **kwargs)
    settings: dict[str, Any] = {**NATIVE, "transport": transport, "arrays": arrays}
    with closing(RemoteVectorEnv(gpu, ID, 4, env_kwargs=kwargs, **settings)) as env:
        assert same(env.reset(seed=3), local.reset(seed=3))
        action = to(LIBRARIES[0], np.ones((4, 3), np.float32), "cuda")
        assert same(env.step(action), local.step(action))
        assert not shares(env)


def test_sizes_and_descriptors_that_are_made_up_are_refused() -> None:
    identity = identify("cuda:0")
    memory = allocate(identity, 1 << 20)
    assert import_memory(identity, memory.descriptor, memory.size).size == memory.size
    with pytest.raises(DeviceError):
        import_memory(identity, memory.descriptor, 4 * memory.size)
    with open(os.devnull) as other, pytest.raises(DeviceError):
        import_memory(identity, other.fileno(), memory.size)


def test_makes_leave_no_memory_and_no_descriptors(gpu: str) -> None:
    kwargs = {"library": LIBRARIES[0], "device": "cuda"}
    measured: list[tuple[int, int]] = []
    for count in (10, int(os.environ.get("ENVWIRE_MAKES", "30"))):
        for _ in range(count):
            with closing(RemoteVectorEnv(gpu, ID, 4, env_kwargs=kwargs, **NATIVE)) as env:
                env.reset(seed=3)
                assert shares(env)
        del env
        gc.collect()
        measured.append((used(), len(os.listdir("/proc/self/fd"))))
    assert measured[1][0] - measured[0][0] < 64 << 20
    assert measured[1][1] <= measured[0][1] + 1


def test_a_killed_environment_leaves_its_client_whole() -> None:
    kwargs = {"library": LIBRARIES[0], "device": "cuda"}
    with Server(["device/*"], **SETTINGS) as server:
        env = RemoteVectorEnv(server.target, ID, 4, env_kwargs=kwargs, copy=False, **NATIVE)
        expected = Drifts(4, **kwargs).reset(seed=3)
        before = None
        for _ in range(int(os.environ.get("ENVWIRE_KILLS", "3"))):
            observation, _ = env.reset(seed=3)
            with pytest.raises(RemoteError):
                env.call("die")
            assert same(observation, expected[0])  # still readable
            del observation
            gc.collect()
            before = before or used()
        env.close()
        assert used() <= before + (64 << 20)


_CLIENT = """
import os, sys
from envwire.client.vector import RemoteVectorEnv
env = RemoteVectorEnv(sys.argv[1], "device/Drift-v0", 4, vectorization_mode="vector_entry_point",
    device="cuda:0", env_kwargs={"library": sys.argv[2], "device": "cuda"})
env.reset(seed=3)
print("ready", flush=True)
sys.stdin.read()
"""


def test_a_killed_client_leaves_no_memory(gpu: str) -> None:
    was = used()
    client = subprocess.Popen(
        [sys.executable, "-c", _CLIENT, gpu, LIBRARIES[0]],
        stdout=subprocess.PIPE,
        stdin=subprocess.PIPE,
    )
    assert client.stdout is not None
    assert client.stdout.readline() == b"ready\n"
    os.kill(client.pid, signal.SIGKILL)
    client.communicate()
    assert used() <= was + (256 << 20)
