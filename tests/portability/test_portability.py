"""Clients on macOS and Windows work without the names that only Linux has."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from envwire.client import RemoteEnv
from envwire.server import Server
from tests.conftest import ROOT
from tests.direct.hosted_frames import FRAMES
from tests.portability.absent_names import touched_names

#: What the client touches only where it is, by system: "win32" has what "darwin" has, and more.
_NOT_ON_MACOS = {
    "fcntl.F_GET_SEALS": "shared memory comes through Unix sockets without a file",
    "fcntl.F_SEAL_SHRINK": "the same",
    "os.sched_getaffinity": "AttributeError is caught",
}
_NOT_ON_WINDOWS = {
    "fcntl.fcntl": "shared memory comes through Unix sockets without a file",
    "os.register_at_fork": "`hasattr` is asked first",
    "recvmsg_into": "`TimedChannel` does not scatter",
    "socket.AF_UNIX": "only where Unix sockets have names without a file",
    "socket.MSG_DONTWAIT": "`TimedChannel` has timeouts, no mailbox, and no event loop",
    "socket.recv_fds": "`TimedChannel` receives no descriptors",
}
LACKED = {"darwin": _NOT_ON_MACOS, "win32": _NOT_ON_MACOS | _NOT_ON_WINDOWS}
SYSTEM = pytest.mark.parametrize("system", ["darwin", "win32"])


@pytest.fixture(scope="module")
def target() -> Iterator[str]:
    with Server(
        ["CartPole-v1", "Conformance/*", FRAMES],
        imports=["tests.direct.hosted_frames"],
        sys_path=(ROOT,),
    ) as server:
        yield server.target


@SYSTEM
def test_clients_drive_a_server(system: str, target: str) -> None:
    program = ["-m", "tests.portability.client_program", system, target, FRAMES]
    done = _python(*program)
    assert done.returncode == 0, done.stderr[-3000:]
    assert len(done.stdout.splitlines()) >= 14, done.stdout


@SYSTEM
@pytest.mark.parametrize(
    "command", [["serve", "CartPole-v1"], ["farm", "up", "CartPole-v1"], ["gateway"]]
)
def test_servers_say_that_they_need_linux(system: str, command: list[str]) -> None:
    done = _python("-m", "tests.portability.command_line", system, *command)
    assert done.returncode == 1
    assert f"servers run on Linux only, and this is {system!r}" in done.stderr
    assert len(done.stderr.splitlines()) == 1


@SYSTEM
def test_the_command_line_looks_at_servers(system: str, target: str) -> None:
    done = _python("-m", "tests.portability.command_line", system, "list", target, "--json")
    assert done.returncode == 0, done.stderr
    assert "CartPole-v1" in done.stdout


@SYSTEM
def test_the_command_line_checks_a_server(system: str, target: str) -> None:
    checks = ["--run", "opening.every-*", "--run", "mailbox.*", "--run", "shared-memory.*"]
    done = _python("-m", "tests.portability.command_line", system, "conformance", target, *checks)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr
    assert "only Linux has Unix sockets" in done.stdout


@SYSTEM
def test_the_command_line_measures_what_can_be_reached(system: str, target: str) -> None:
    done = _python("-m", "tests.portability.command_line", system, "bench", target, "--steps=10")
    assert done.returncode == 0, done.stderr
    assert "'direct-unix' exist on Linux only" in done.stdout
    assert "unary" in done.stdout


@SYSTEM
def test_the_command_line_reads_recordings(system: str, target: str, tmp_path: Path) -> None:
    with Server(["CartPole-v1"], record=str(tmp_path)) as server:
        env = RemoteEnv(server.target, "CartPole-v1")
        env.reset(seed=1)
        env.step(0)
        env.close()
    [recording] = tmp_path.glob("*")
    table = tmp_path / "steps.csv"
    done = _python(
        "-m", "tests.portability.command_line", system, "export", str(recording), f"--csv={table}"
    )
    assert done.returncode == 0, done.stderr
    assert table.read_text().count("\n") >= 2


@SYSTEM
def test_what_the_client_touches_and_another_system_lacks(system: str) -> None:
    assert set(touched_names(system)) == set(LACKED[system])


def _python(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-X", "faulthandler", *arguments]
    return subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False
    )
