"""The fork server dies: sessions live on, and the next one is made by another fork server."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from envwire.client import RemoteEnv, SessionLostError
from envwire.server import Server
from tests.faults.scene import alive, eventually, family_of, forkserver_of, parent_of
from tests.faults.test_processes import FAULTY, ROOT, start

#: A command that becomes the server, and leaves a process of its own behind.
SCRIPT = ("sh", "-c", 'sleep 600 & exec "$@"', "sh")
SERVE = (sys.executable, "-m", "envwire", "serve", FAULTY, "--import", "tests.hosted_envs")
#: In a container a server without an init is process 1, and the parent of all orphans.
CONTAINER = ("unshare", "--pid", "--fork", "--mount-proc")


def test_a_killed_forkserver_is_replaced_and_its_sessions_live_on() -> None:
    with start() as server:
        first = RemoteEnv(server.target, FAULTY)
        pid = first.reset()[1]["pid"]
        forkserver = parent_of(pid)
        assert forkserver != server.pid
        os.kill(forkserver, signal.SIGKILL)
        assert eventually(lambda: not alive(forkserver))
        assert first.step(0)[4] == {"steps": 1}
        second = RemoteEnv(server.target, FAULTY)
        assert parent_of(second.reset()[1]["pid"]) not in {forkserver, parent_of(pid)}
        for env in (first, second):
            env.close()
        assert eventually(lambda: not alive(pid))


def test_what_an_environment_started_dies_with_it(server: Server) -> None:
    env = RemoteEnv(server.target, FAULTY)
    env.reset()
    child = env.get_wrapper_attr("start_child")()
    assert alive(child)
    env.close()
    assert eventually(lambda: not alive(child))


def test_sessions_whose_forkserver_is_gone_are_the_fronts_to_look_after() -> None:
    with start() as server:
        env = RemoteEnv(server.target, FAULTY)
        pid = env.reset()[1]["pid"]
        child = env.get_wrapper_attr("start_child")()
        os.kill(parent_of(pid), signal.SIGKILL)
        assert eventually(lambda: parent_of(pid) == server.pid)
        os.kill(pid, signal.SIGKILL)
        with pytest.raises(SessionLostError, match="SIGKILL"):
            env.step(0)
        assert eventually(lambda: not alive(child))
        assert eventually(lambda: family_of(server.pid) == {server.pid})


@contextmanager
def script(*around: str) -> Iterator[tuple[int, str]]:
    """Runs a script that becomes a server; yields the front's process and its address."""
    command = (*around, *SCRIPT, *SERVE, "--port", "0")
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT) as process:
        try:
            assert process.stdout is not None
            target = process.stdout.readline().split()[1]
            front = forkserver_of(process.pid) if around else process.pid
            family = family_of(front)
            yield front, target
            os.kill(front, signal.SIGTERM)
            process.wait(60)
        finally:
            for pid in family_of(process.pid) | family:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)


def running(front: int, command: str) -> list[int]:
    """Returns the processes of a front that run a command."""
    return [pid for pid in family_of(front) if command in _command(pid)]


def _command(pid: int) -> str:
    """Returns the command line of a process; empty if it has ended."""
    with suppress(FileNotFoundError, ProcessLookupError):
        return Path(f"/proc/{pid}/cmdline").read_text().replace("\0", " ")
    return ""


def lose_the_forkserver_and_end_a_session(front: int, target: str) -> None:
    """Leaves a front with the orphan of a session, which it is to kill."""
    env = RemoteEnv(target, FAULTY)
    env.reset()
    env.get_wrapper_attr("start_child")()
    (forkserver,) = (pid for pid in running(front, "_worker.main") if parent_of(pid) == front)
    os.kill(forkserver, signal.SIGKILL)
    assert eventually(lambda: not alive(forkserver))
    assert len(running(front, "sleep 3600")) == 1
    env.close()
    assert eventually(lambda: running(front, "sleep 3600") == [])
    RemoteEnv(target, FAULTY).close()


def test_a_front_without_its_forkserver_spares_what_the_script_before_it_started() -> None:
    with script() as (front, target):
        strangers = running(front, "sleep 600")
        assert len(strangers) == 1
        lose_the_forkserver_and_end_a_session(front, target)
        assert all(map(alive, strangers))


@pytest.mark.slow  # the same in a container
@pytest.mark.skipif(
    os.geteuid() != 0 or not shutil.which("nsenter"), reason="takes a PID namespace: run as root"
)
def test_a_front_that_is_process_1_spares_the_orphans_of_others() -> None:
    with script(*CONTAINER) as (front, target):
        # As `docker exec` does: a process from outside leaves an orphan in the container.
        inside = ("nsenter", "--target", str(front), "--pid", "--mount")
        subprocess.run((*inside, "sh", "-c", "setsid sleep 600 &"), check=True)
        assert eventually(lambda: len(running(front, "sleep 600")) == 2)  # not while it executes
        strangers = running(front, "sleep 600")
        lose_the_forkserver_and_end_a_session(front, target)
        assert all(map(alive, strangers))
