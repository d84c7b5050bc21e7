"""Processes that are killed, stopped and continued: sessions, clients, the front; over every way to a session."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from envwire.client import (
    RemoteEnv,
    RequestTimeoutError,
    ServerUnavailableError,
    SessionLostError,
    StepTimeoutError,
)
from envwire.server import Server
from tests.faults.hungry_envs import HUNGRY, Appetite
from tests.faults.scene import (
    active,
    alive,
    eventually,
    family_of,
    files_of,
    serve,
)
from tests.tiers import first

LEASE, STEP_TIMEOUT = 2.0, 4.0
every_transport = pytest.mark.parametrize(
    "transport", first(["direct-unix", "stream", "unary", "direct-tcp"])
)


@pytest.fixture(scope="module")
def brief() -> Iterator[Server]:
    """A server with short leases."""
    with serve(lease=LEASE, step_timeout=STEP_TIMEOUT) as server:
        yield server


def make(server: Server, transport: str, **settings: Any) -> tuple[RemoteEnv, int]:
    """Returns an environment in an episode, and its process."""
    env = RemoteEnv(server.target, HUNGRY, transport=transport, **settings)
    return env, env.reset()[1]["pid"]


def later(seconds: float, pid: int, number: int) -> threading.Timer:
    timer = threading.Timer(seconds, os.kill, (pid, number))
    timer.start()
    return timer


@every_transport
def test_a_session_is_killed_between_steps_and_under_one(brief: Server, transport: str) -> None:
    env, pid = make(brief, transport, patience=5.0)
    os.kill(pid, signal.SIGKILL)
    with pytest.raises(SessionLostError, match=r"SIGKILL.*out of memory"):
        env.step(0)
    pid = env.reset()[1]["pid"]
    killer = later(0.2, pid, signal.SIGKILL)
    with pytest.raises(SessionLostError, match="SIGKILL"):
        env.step(int(Appetite.TIME))
    killer.join()
    env.close()
    assert eventually(lambda: active(brief.target) == 0)


@every_transport
def test_a_session_that_is_stopped_for_a_while_goes_on(brief: Server, transport: str) -> None:
    env, pid = make(brief, transport)
    os.kill(pid, signal.SIGSTOP)
    waker = later(1.0, pid, signal.SIGCONT)
    assert env.step(0)[4] == {"steps": 1}
    waker.join()
    assert env.step(0)[4] == {"steps": 2}
    env.close()


@pytest.mark.parametrize("transport", first(["stream", "unary"]))
def test_a_session_that_stays_stopped_is_told_and_ended(brief: Server, transport: str) -> None:
    env, pid = make(brief, transport)
    os.kill(pid, signal.SIGSTOP)
    with pytest.raises(StepTimeoutError, match="within 4 s"):
        env.step(0)
    assert eventually(lambda: not alive(pid))
    env.close()


@pytest.mark.long
def test_a_stopped_session_behind_an_open_channel_is_found() -> None:
    with serve(lease=1.0, step_timeout=1.0) as server:
        env, pid = make(server, "direct-tcp", timeout=0.5)
        os.kill(pid, signal.SIGSTOP)
        with pytest.raises(RequestTimeoutError):
            env.step(0)
        env.close()
        assert eventually(lambda: active(server.target) == 0, 60.0)
        assert eventually(lambda: not alive(pid))


@every_transport
def test_a_front_that_is_stopped_for_longer_than_a_lease(brief: Server, transport: str) -> None:
    env, _ = make(brief, transport)
    assert env.step(0)[4] == {"steps": 1}
    os.kill(brief.pid, signal.SIGSTOP)
    try:
        waker = later(LEASE + 1.5, brief.pid, signal.SIGCONT)
        assert env.step(0)[4] == {"steps": 2}, "relayed steps wait, direct ones do not notice"
        waker.join()
    finally:
        os.kill(brief.pid, signal.SIGCONT)
    assert [env.step(0)[4]["steps"] for _ in range(3)] == [3, 4, 5]
    env.close()


@pytest.mark.parametrize("transport", first(["direct-tcp", "unary"]))
def test_a_client_that_is_stopped_or_killed(brief: Server, transport: str) -> None:
    assert eventually(lambda: active(brief.target) == 0)
    script = (
        "import sys\nfrom envwire.client import RemoteEnv\n"
        f"env = RemoteEnv({brief.target!r}, {HUNGRY!r}, transport={transport!r})\n"
        "print(env.reset()[1]['pid'], flush=True)\n"
        "for line in sys.stdin:\n    print(env.step(0)[4]['steps'], flush=True)\n"
    )
    client = subprocess.Popen(
        [sys.executable, "-c", script],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert client.stdin
    assert client.stdout
    try:
        pid = int(client.stdout.readline())
        client.send_signal(signal.SIGSTOP)
        stopped_too_long = eventually(lambda: active(brief.target) == 0, LEASE / 2)
        assert not stopped_too_long
        client.send_signal(signal.SIGCONT)
        client.stdin.write("step\n")
        client.stdin.flush()
        assert client.stdout.readline() == "1\n"
    finally:
        client.kill()
        client.communicate()
    assert eventually(lambda: active(brief.target) == 0, LEASE + 5.0)
    assert eventually(lambda: not alive(pid))


@every_transport
def test_a_server_drains_with_a_deadline(transport: str) -> None:
    with serve(drain_timeout=1.5) as server:
        env, pid = make(server, transport)
        process = vars(server)["_process"]
        process.terminate()
        assert env.step(0)[4] == {"steps": 1}, "a session that is there goes on"
        assert process.wait(60.0) == 0, "and does not keep the server for ever"
        assert eventually(lambda: not alive(pid))
        with pytest.raises((ServerUnavailableError, SessionLostError)):
            env.step(0)
        env.close()


def _names_of(pid: int) -> set[str]:
    """Returns the named Unix sockets and files of a process."""
    links = files_of(pid)
    inodes = {link[8:-1] for link in links if link.startswith("socket:")}
    files = {link for link in links if link.startswith("/") and not link.endswith("(deleted)")}
    return files | {name for inode, name in _unix_sockets() if inode in inodes}


def _unix_sockets() -> list[tuple[str, str]]:
    lines = [line.split() for line in Path("/proc/net/unix").read_text().splitlines()[1:]]
    return [(line[6], line[7]) for line in lines if len(line) > 7]


@every_transport
def test_a_killed_front_leaves_nothing(transport: str) -> None:
    server = serve(shared_memory=64 << 20).start()
    env = RemoteEnv(server.target, HUNGRY, transport=transport, size=100_000, lease=0.5)
    env.reset()
    env.step(0)
    processes = family_of(server.pid)
    assert len(processes) == 3
    names = set[str]().union(*map(_names_of, processes))
    assert any(name.startswith("@envwire") for name in names)
    assert not any(name.startswith("/dev/shm") for name in names), "its memory has no name"
    os.kill(server.pid, signal.SIGKILL)
    assert eventually(lambda: not any(map(alive, processes)))
    assert not names & {name for _, name in _unix_sockets() if name.startswith("@envwire")}
    with pytest.raises(ServerUnavailableError):
        env.step(0)
    env.close()
    server.stop()
