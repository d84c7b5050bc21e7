"""Large frames in shared memory, from real servers: equal results, never overwritten, and no leftovers."""

from __future__ import annotations

import gc
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import envwire.envs as gym
from envwire.client import RemoteEnv, SessionLostError
from envwire.server import Server
from envwire.server._worker.direct.shared_memory import share
from envwire.server.config import ServerConfig
from envwire.testing.comparing import identical
from tests.direct.hosted_frames import FRAMES
from tests.direct.test_resuming import copied, expected
from tests.faults.scene import address_space, alive, eventually, files_named

SHAPE = (300, 400)
#: How many slots the budget of the server that the tests share has for it.
SLOTS = 8
NAME = "/memfd:envwire-frames"


@pytest.fixture
def env(direct: Server) -> Iterator[Any]:
    made = RemoteEnv(direct.target, FRAMES, shape=SHAPE, transport="direct-unix")
    yield made
    made.close()


def mapped(pid: int | str = "self") -> int:
    """Returns how many bytes of shared frames a process has in its address space."""
    total = 0
    for line in address_space(pid).splitlines():
        if NAME in line:
            start, _, end = line.split()[0].partition("-")
            total += int(end, 16) - int(start, 16)
    return total


def opened(pid: int) -> int:
    """Returns how many descriptors of shared frames a process has."""
    return files_named(pid, NAME)


def is_shared(array: Any) -> bool:
    """Returns whether an array lies in memory that a server shares."""
    address: int = array.__array_interface__["data"][0]
    for line in Path("/proc/self/maps").read_text().splitlines():
        start, _, end = line.split()[0].partition("-")
        if int(start, 16) <= address < int(end, 16):
            return NAME in line
    return False


@pytest.mark.parametrize(
    "kwargs",
    [
        {"shape": SHAPE},
        {"shape": SHAPE, "chatty": True},
        {"shape": SHAPE, "uneven": True},
        {"shape": (256, 256)},
        {"shape": (700, 701)},
    ],
    ids=str,
)
def test_an_episode_is_the_same_bit_for_bit(direct: Server, kwargs: dict[str, Any]) -> None:
    env = RemoteEnv(direct.target, FRAMES, transport="direct-unix", **kwargs)
    local = gym.make(FRAMES, **kwargs)
    seen, known = env.reset(seed=3)[0], np.array(local.reset(seed=3)[0])
    assert is_shared(seen)
    assert identical(seen, known)
    for step in range(30):
        result = env.step(step % 4)
        assert is_shared(result[0])
        assert identical(result, copied(local.step(step % 4)))
        assert result[0].flags.writeable
        result[0][:] = 0  # the agent's own
    env.close()


def test_kept_arrays_are_never_overwritten(env: Any) -> None:
    """More are kept than there are slots: the rest is copied out of the last one."""
    kept = [env.reset(seed=5)[0]] + [env.step(step % 4)[0] for step in range(3 * SLOTS)]
    frames = [
        seen[0] if number else seen for number, seen in enumerate(expected(3 * SLOTS, shape=SHAPE))
    ]
    assert identical(kept, frames)
    assert [is_shared(each) for each in kept] == [number < SLOTS - 1 for number in range(len(kept))]


def test_slots_are_given_back_when_their_arrays_are_gone(env: Any) -> None:
    kept = [env.reset()[0]] + [env.step(0)[0] for _ in range(SLOTS - 1)]
    assert not is_shared(kept[-1])
    rows = [array[7] for array in kept[:3]]
    del kept[:3], kept[-1]
    assert not is_shared(env.step(0)[0]), "a row keeps its frame"
    rows.clear()
    gc.collect()
    kept += [env.step(0)[0] for _ in range(4)]
    assert [is_shared(array) for array in kept[-4:]] == [True, True, True, False]


def test_arrays_outlive_their_environment_and_its_process(env: Any) -> None:
    observation, info = env.reset(seed=5)
    known = observation.copy()
    env.close()
    assert eventually(lambda: not alive(info["pid"]))
    assert is_shared(observation)
    assert identical(observation, known)
    observation[:] = 1


def test_it_is_not_used_over_tcp(direct: Server) -> None:
    env = RemoteEnv(direct.target, FRAMES, shape=SHAPE, transport="direct-tcp")
    observation, info = env.reset(seed=5)
    assert not is_shared(observation)
    assert mapped(info["pid"]) == opened(info["pid"]) == 0
    env.close()


@pytest.mark.parametrize("shape", [(4,), (255, 256)])
def test_small_observations_need_none(direct: Server, shape: Any) -> None:
    env = RemoteEnv(direct.target, FRAMES, shape=shape, transport="direct-unix")
    observation, info = env.reset()
    assert not is_shared(observation)
    assert mapped(info["pid"]) == 0
    env.close()


def test_the_budget_of_a_session_is_kept(direct: Server) -> None:
    """Four megabytes: eight slots of 120 kB, four of one MB would be too much, none of three."""
    for shape, least, most in (
        (SHAPE, SLOTS * 120_000, 2**20),
        ((1024, 1000), 2 * 2**20, 2**22),
        ((3000, 1000), 0, 0),
    ):
        env = RemoteEnv(direct.target, FRAMES, shape=shape, transport="direct-unix")
        observation, info = env.reset()
        assert is_shared(observation) == bool(most)
        assert least <= mapped(info["pid"]) <= most
        env.close()


def test_nothing_is_shared_if_the_operator_says_so() -> None:
    assert ServerConfig(("x",)).shared_memory == 2**28
    assert share(0, gym.spaces.Box(0, 255, SHAPE, np.uint8)) is None


def resident(pid: int) -> int:
    """Returns how many bytes of shared frames a process has touched."""
    lines = iter(Path(f"/proc/{pid}/smaps").read_text().splitlines())
    return sum(
        int(next(line for line in lines if line.startswith("Rss:")).split()[1]) * 1024
        for line in lines
        if NAME in line
    )


def test_slots_that_no_array_needed_take_no_memory(env: Any) -> None:
    observation, info = env.reset(seed=5)
    for _ in range(20):
        observation = env.step(0)[0]
    assert is_shared(observation)
    assert resident(info["pid"]) < 3 * 131_072


def test_a_forked_child_has_arrays_of_its_own(env: Any) -> None:
    """As other memory: neither sees what the other writes, and the session writes over neither."""
    kept = [env.reset(seed=5)[0], env.step(0)[0]]
    known = [array.copy() for array in kept]
    to_child, to_parent = os.pipe(), os.pipe()
    child = os.fork()
    if not child:
        kept[0][:] = 7  # the child's own
        os.read(to_child[0], 1)
        os.write(to_parent[1], b"+" if identical(kept[1], known[1]) else b"-")
        os._exit(0)
    kept[1][:] = 9
    assert identical(kept[0], known[0])
    rest = kept.pop(0)
    kept.clear()
    later = [env.step(step % 4)[0] for step in range(1, 2 * SLOTS)]
    assert identical(rest, known[0])
    os.write(to_child[1], b"+")
    assert os.read(to_parent[0], 1) == b"+"
    os.waitpid(child, 0)
    del rest
    frames = [seen[0] for seen in expected(2 * SLOTS, shape=SHAPE)[2:]]
    assert identical(later, frames)
    later.clear()
    gc.collect()
    again = [env.step(0)[0] for _ in range(SLOTS)]
    assert [is_shared(each) for each in again].count(True) == SLOTS - 1
    for pipe in (*to_child, *to_parent):
        os.close(pipe)


def test_no_process_but_the_two_has_it_and_it_has_no_name(direct: Server, env: Any) -> None:
    pid = env.reset()[1]["pid"]
    assert opened(direct.pid) == 0
    assert mapped(direct.pid) == 0
    assert opened(os.getpid()) == opened(pid) == 2, "one of them Python's own, of the mapping"
    assert mapped(pid) == mapped() > 0
    assert not any("envwire" in name for name in os.listdir("/dev/shm"))


@pytest.mark.parametrize("how", ["close", "kill", "drop"])
def test_it_is_freed_after_every_kind_of_end(direct: Server, how: str) -> None:
    gc.collect()
    assert eventually(lambda: mapped() == 0)
    env = RemoteEnv(direct.target, FRAMES, shape=SHAPE, transport="direct-unix", lease=0.3)
    observation, info = env.reset()
    assert mapped() > 0
    if how == "close":
        env.close()
    elif how == "kill":
        os.kill(info["pid"], signal.SIGKILL)
        with pytest.raises(SessionLostError):
            env.step(0)
    del env
    assert eventually(lambda: not alive(info["pid"]))
    assert is_shared(observation), "the agent's array lives on"
    del observation
    assert eventually(lambda: gc.collect() >= 0 and mapped() == 0)


def test_a_new_channel_gets_new_memory_and_the_old_is_freed(direct: Server) -> None:
    """Closing and making again, over and over, piles nothing up."""

    def play() -> None:
        env = RemoteEnv(direct.target, FRAMES, shape=SHAPE, transport="direct-unix")
        assert opened(env.reset()[1]["pid"]) == 2
        env.close()

    for _ in range(5):
        play()
    gc.collect()
    assert eventually(lambda: mapped() == 0)
