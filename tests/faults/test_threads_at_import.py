"""Modules that start threads when imported: a fork would lose these, so their environments get new interpreters."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from envwire.client import (
    RemoteEnv,
    RemoteError,
    RemoteVectorEnv,
    SessionLostError,
    StepTimeoutError,
)
from envwire.server import Server
from tests.conftest import ROOT
from tests.faults.scene import alive, eventually
from tests.faults.threaded_envs import ENV

MODULE = "tests.faults.threaded_envs"
OPENMP = """
long total(long upto) {
    long sum = 0;
    #pragma omp parallel for reduction(+:sum) num_threads(2)
    for (long i = 0; i < upto; i++) sum += 1;
    return sum;
}
"""
COMPILER = shutil.which("gcc")
#: What a server logs of a module that left threads running.
TOLD = "when imported"


class Served(NamedTuple):
    target: str
    log: str


def server_of(kind: str, *variables: str, **more: Any) -> Server:
    variables = (f"THREADS_AT_IMPORT={kind}", *variables)
    settings = {"imports": [MODULE], "variables": variables, "sys_path": (ROOT,), **more}
    return Server([ENV.format(kind)], **settings)


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A library with a pool of OpenMP; empty where there is no compiler."""
    if COMPILER is None:
        return ""
    folder = tmp_path_factory.mktemp("openmp")
    source, library = folder / "total.c", folder / "total.so"
    source.write_text(OPENMP)
    command = [COMPILER, "-fopenmp", "-shared", "-fPIC", "-o", str(library), str(source)]
    return str(library) if subprocess.run(command, check=False).returncode == 0 else ""


@contextmanager
def errors_to(path: Path) -> Iterator[None]:
    """Writes the standard error of processes that start meanwhile to a file."""
    before = os.dup(2)
    try:
        with path.open("w") as file:
            os.dup2(file.fileno(), 2)
        yield
    finally:
        os.dup2(before, 2)
        os.close(before)


@pytest.fixture(scope="module")
def servers(
    library: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Callable[[str], Served]]:
    """Servers by the kind of threads, each with what it logged at its start."""
    made = {kind: partial(server_of, kind, step_timeout=10.0) for kind in ("ended", "plain")}
    made["pool"] = partial(server_of, "pool", f"PYTHONPATH={ROOT}", python=sys.executable)
    made["openmp"] = partial(server_of, "openmp", f"OPENMP_LIBRARY={library}")
    made["none"] = partial(server_of, "none", start="spawn", warm=[f"{ENV.format('none')}=1"])
    folder = tmp_path_factory.mktemp("logs")
    with ExitStack() as running:

        @cache
        def started(kind: str) -> Served:
            with errors_to(folder / kind):
                server = running.enter_context(made[kind]())
            return Served(server.target, (folder / kind).read_text())

        yield started


def played(target: str, kind: str) -> dict[str, Any]:
    """Plays a little; returns the info of the reset."""
    with closing(RemoteEnv(target, ENV.format(kind))) as env:
        observation, info = env.reset(seed=1)
        assert observation == 42
        assert env.step(0)[0] == 42
        return info


@pytest.mark.parametrize("kind", ["plain", "pool", "openmp"])
def test_an_environment_with_threads_gets_a_new_interpreter(
    servers: Callable[[str], Served], library: str, kind: str
) -> None:
    if kind == "openmp" and not library:
        pytest.skip("there is no C compiler with OpenMP")
    served = servers(kind)
    assert played(served.target, kind)["interpreter"]
    assert f"the fork server: {MODULE} started 1 thread when imported" in served.log


def test_threads_that_have_ended_do_not_matter(servers: Callable[[str], Served]) -> None:
    served = servers("ended")
    assert not played(served.target, "ended")["interpreter"]
    assert TOLD not in served.log


def test_an_operator_may_ask_for_new_interpreters(servers: Callable[[str], Served]) -> None:
    served = servers("none")
    info = played(served.target, "none")
    assert info["interpreter"]
    variable = os.environ["IMPORTS_OF_THREADS"]
    assert info["imports"] == variable + "x", "the fork server's own import is not inherited"
    assert TOLD not in served.log


def test_a_process_with_threads_refuses_to_be_copied(servers: Callable[[str], Served]) -> None:
    with closing(RemoteEnv(servers("pool").target, ENV.format("pool"))) as env:
        env.reset(seed=1)
        with pytest.raises(RemoteError, match="runs 2 threads, and a fork copies one"):
            env.fork()
        assert env.step(0)[0] == 42


def test_a_new_interpreter_without_threads_is_copied(servers: Callable[[str], Served]) -> None:
    with closing(RemoteEnv(servers("none").target, ENV.format("none"))) as env:
        pid = env.reset(seed=1)[1]["pid"]
        with closing(env.fork()) as copy:
            assert copy.step(0)[0] == 42
            assert copy.reset()[1]["pid"] != pid


def test_a_new_interpreter_is_supervised_like_a_fork(servers: Callable[[str], Served]) -> None:
    with closing(RemoteEnv(servers("plain").target, ENV.format("plain"))) as env:
        pid = env.reset()[1]["pid"]
        os.kill(pid, signal.SIGKILL)
        with pytest.raises(SessionLostError, match="SIGKILL"):
            env.step(0)
        again = env.reset()[1]["pid"]
        assert os.getpgid(again) == again
    assert eventually(lambda: not alive(again))


def test_a_new_interpreter_dies_with_the_front() -> None:
    with server_of("pool") as server:
        env = RemoteEnv(server.target, ENV.format("pool"))
        pid = env.reset()[1]["pid"]
        os.kill(server.pid, signal.SIGKILL)
        assert eventually(lambda: not alive(pid))


def test_a_fork_without_the_threads_hangs_as_its_operator_was_told(tmp_path: Path) -> None:
    log = tmp_path / "log"
    with errors_to(log), server_of("pool", start="fork", step_timeout=1.0) as server:
        env = RemoteEnv(server.target, ENV.format("pool"))
        with closing(env), pytest.raises(StepTimeoutError):
            env.reset()
    assert "--start fork forks all the same" in log.read_text()


def test_sessions_share_a_new_interpreter() -> None:
    with (
        server_of("pool", sessions_per_process=2) as server,
        closing(RemoteVectorEnv(server.target, ENV.format("pool"), 2, sessions=2)) as envs,
    ):
        observations, infos = envs.reset(seed=1)
        assert list(observations) == [42, 42]
        assert len(set(infos["pid"])) == 1
