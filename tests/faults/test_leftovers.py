"""Nothing that an environment started outlives its session, however both end and wherever it hid."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

import pytest

from envwire.client import RemoteEnv, RemoteError
from envwire.server import Server
from tests.conftest import ROOT
from tests.faults.leaving_envs import Way
from tests.tiers import cross

ENV = "tests/Leaving-v0"
#: What docs/reliability.md promises.
SECONDS = 30.0
#: The time that a hung environment is given before it is killed.
STEP_TIMEOUT = 1.0


def marked(mark: str) -> set[int]:
    """Returns the living processes that carry a mark in their environment."""
    found: set[int] = set()
    for entry in filter(str.isdigit, os.listdir("/proc")):
        with suppress(OSError):
            carries = mark.encode() in Path(f"/proc/{entry}/environ").read_bytes()
            state = Path(f"/proc/{entry}/stat").read_text().rpartition(")")[2].split()[0]
            if carries and state not in "ZX":
                found.add(int(entry))
    return found


class Marked(NamedTuple):
    """A server, and what all processes that come from it carry in their environment."""

    server: Server
    mark: str


@contextmanager
def serving(mark: str) -> Iterator[Marked]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ENVWIRE_LEFTOVERS", mark)
        server = Server(
            [ENV],
            imports=["tests.faults.leaving_envs"],
            sys_path=(ROOT,),
            step_timeout=STEP_TIMEOUT,
        ).start()
    yield Marked(server, mark)
    server.stop()
    for pid in marked(mark):
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


@pytest.fixture(scope="module")
def lasting(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Marked]:
    """A server for what ends a session only."""
    with serving(str(tmp_path_factory.mktemp("lasting"))) as served:
        yield served


@pytest.fixture
def ending(tmp_path: Path) -> Iterator[Marked]:
    """A server that the test ends."""
    with serving(str(tmp_path)) as served:
        yield served


def none_left(mark: str, but: set[int], seconds: float = SECONDS) -> set[int]:
    """Waits until the processes with a mark are gone, with exceptions; returns the remaining ones."""
    deadline = time.monotonic() + seconds
    while (left := marked(mark) - but) and time.monotonic() < deadline:
        time.sleep(0.05)
    return left


def at_least(count: int, mark: str, but: set[int]) -> bool:
    """Waits until a number of further processes carry the mark: a new process has no readable environment yet."""
    deadline = time.monotonic() + SECONDS
    while len(marked(mark) - but) < count and time.monotonic() < deadline:
        time.sleep(0.05)
    return len(marked(mark) - but) >= count


def close(env: RemoteEnv, _: Server) -> None:
    env.close()


def crash(env: RemoteEnv, _: Server) -> None:
    with pytest.raises(RemoteError):
        env.step(1)


def hang(env: RemoteEnv, _: Server) -> None:
    with pytest.raises(RemoteError):
        env.step(2)


def kill_the_front(_: RemoteEnv, server: Server) -> None:
    os.kill(server.pid, signal.SIGKILL)


def stop(_: RemoteEnv, server: Server) -> None:
    server.stop()


@pytest.mark.parametrize(
    ("way", "end"),
    cross({way.name: way for way in Way}, [close, crash, hang, kill_the_front, stop]),
)
def test_what_an_environment_started_ends_with_it(
    way: Way, end: Callable[[RemoteEnv, Server], None], request: pytest.FixtureRequest
) -> None:
    ends_all = end in (stop, kill_the_front)
    server, mark = request.getfixturevalue("ending" if ends_all else "lasting")
    stays = marked(mark)
    env = RemoteEnv(server.target, ENV)
    env.reset(options={"way": int(way)})
    assert at_least(2, mark, stays), "nothing was started"
    end(env, server)
    assert none_left(mark, set() if ends_all else stays) == set()
    with suppress(RemoteError):
        env.close()


def test_what_a_living_session_started_and_let_go_stays(lasting: Marked) -> None:
    server, mark = lasting
    keeping, leaving = (RemoteEnv(server.target, ENV) for _ in range(2))
    keeping.reset(options={"way": int(Way.LAUNCHED)})
    assert at_least(4, mark, set())  # fork server, both sessions and what one launched
    kept = marked(mark)
    leaving.reset(options={"way": int(Way.LAUNCHED)})
    leaving.close()
    assert none_left(mark, kept) == set()
    assert len(marked(mark)) == len(kept) - 1  # all but the process of the session that left
    keeping.close()
