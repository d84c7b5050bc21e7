"""A session takes no more memory, processor time, files or disk than it may; its neighbours do not notice."""

from __future__ import annotations

import resource
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from envwire.client import RemoteEnv, SessionLostError
from envwire.server import Server
from tests.faults.hungry_envs import HUNGRY, Appetite
from tests.faults.scene import alive, channel_of, serve

MEMORY, CPU, FILES = 256 << 20, 2, 64


@pytest.fixture(scope="module")
def strict() -> Iterator[Server]:
    with serve(
        max_session_memory=MEMORY, max_session_cpu=CPU, max_session_files=FILES, step_timeout=20.0
    ) as server:
        yield server


@pytest.fixture
def neighbour(strict: Server) -> Iterator[RemoteEnv]:
    """Another session, which must go on as if nothing had happened."""
    env = RemoteEnv(strict.target, HUNGRY)
    env.reset()
    assert env.step(0)[4] == {"steps": 1}
    yield env
    assert env.step(0)[4] == {"steps": 2}
    env.close()


@pytest.mark.parametrize(
    ("appetite", "error", "says"),
    [
        (Appetite.MEMORY, MemoryError, "Unable to allocate"),
        (Appetite.FILES, OSError, "Too many open files"),
    ],
)
def test_a_limit_that_python_notices_is_an_exception(
    strict: Server, neighbour: RemoteEnv, appetite: Appetite, error: type[Exception], says: str
) -> None:
    env = RemoteEnv(strict.target, HUNGRY)
    env.reset()
    with pytest.raises(error, match=says):
        env.step(int(appetite))
    assert env.get_wrapper_attr("give_back")() > 0
    assert env.step(0)[4] == {"steps": 1}, "the episode goes on"
    env.close()


@pytest.mark.parametrize(
    ("appetite", "says", "output"),
    [
        (Appetite.MEMORY_OF_A_LIBRARY, "SIGABRT", "std::bad_alloc"),
        (Appetite.PROCESSOR, "SIGXCPU.*--max-session-cpu", ""),
    ],
)
def test_a_limit_that_kills_is_told_with_the_last_output(
    strict: Server, neighbour: RemoteEnv, appetite: Appetite, says: str, output: str
) -> None:
    env = RemoteEnv(strict.target, HUNGRY)
    pid = env.reset()[1]["pid"]
    with pytest.raises(SessionLostError, match=says) as lost:
        env.step(int(appetite))
    assert output in lost.value.output
    assert not alive(pid)
    assert env.reset()[1]["pid"] != pid
    env.close()


def test_limits_are_final_and_no_core_is_dumped(strict: Server) -> None:
    env = RemoteEnv(strict.target, HUNGRY)
    env.reset()
    limits = env.get_wrapper_attr("limits")()
    assert limits["CORE"] == (0, 0)
    assert limits["CPU"] == (CPU, CPU + 1)
    assert limits["NOFILE"] == (FILES, FILES)
    assert limits["DATA"][0] == limits["DATA"][1] >= MEMORY
    env.close()


def test_a_session_without_files_left_still_takes_a_new_connection(strict: Server) -> None:
    env = RemoteEnv(strict.target, HUNGRY, transport="direct-tcp")
    env.reset()
    with pytest.raises(OSError, match="Too many open files"):
        env.step(int(Appetite.FILES))
    channel_of(env).connection.shutdown(socket.SHUT_RDWR)
    assert env.step(0)[4] == {"steps": 1}
    assert env.get_wrapper_attr("give_back")() > 0
    env.close()


def test_without_limits_there_are_none() -> None:
    with serve() as server:
        env = RemoteEnv(server.target, HUNGRY)
        env.reset()
        limits = env.get_wrapper_attr("limits")()
        assert limits["CPU"] == resource.getrlimit(resource.RLIMIT_CPU)
        assert limits["DATA"] == resource.getrlimit(resource.RLIMIT_DATA)
        env.close()


def test_a_full_disk_is_an_exception(strict: Server) -> None:
    full = Path("/dev/full")
    if not full.exists():
        pytest.skip("this system has no /dev/full")
    env = RemoteEnv(strict.target, HUNGRY, path=str(full))
    env.reset()
    with pytest.raises(OSError, match="No space left on device"):
        env.step(int(Appetite.DISK))
    assert env.step(0)[4] == {"steps": 1}
    env.close()


@pytest.mark.parametrize(
    ("setting", "value", "says"),
    [
        ("max_session_memory", -1, "0, for no limit"),
        ("max_session_cpu", -1, "0, for no limit"),
        ("max_session_files", 8, "32 or more"),
        ("queue", -1, "0, for no limit"),
        ("queue_timeout", 0.0, "more than 0"),
    ],
)
def test_settings_that_cannot_work_are_refused(setting: str, value: float, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        serve(**{setting: value})
