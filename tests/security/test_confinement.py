"""An environment reads neither the server's secrets nor the memory of others, where the kernel sees to it."""

from __future__ import annotations

import logging
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from envwire.client import Credentials, RemoteEnv
from envwire.server import Server, ServerConfig
from envwire.server._auth.scopes import Scope
from envwire.server._auth.secret_files import exposed, secrets_of, warn_of_exposed
from envwire.server._worker.confining.confinement import landlock_version
from tests.conftest import ROOT
from tests.secured import certificates, write_tokens

SPY = "hostile/Spy-v0"
WITH_REFER, WITH_SCOPES = 2, 6
landlocked = pytest.mark.skipif(not landlock_version(), reason="a kernel without Landlock")


@pytest.fixture(scope="module")
def directory() -> Iterator[Path]:
    """Where no environment works: not in the temporary directory, and not at home."""
    try:
        with tempfile.TemporaryDirectory(dir="/var/tmp", prefix="envwire-") as path:
            yield Path(path)
    except OSError:
        pytest.skip("no directory for secrets")


@pytest.fixture(scope="module")
def spies(directory: Path) -> Iterator[tuple[RemoteEnv, RemoteEnv, Server]]:
    tokens = write_tokens(directory / "tokens", {"alice": [Scope.PLAY]})
    known = certificates()
    for name in ("server", "server-key"):
        (directory / f"{name}.pem").write_bytes(known.path(name).read_bytes())
    credentials = Credentials(ca=known.path("ca"), cert=None, key=None, token=tokens["alice"])
    with Server(
        [SPY],
        imports=["tests.security.hostile_envs"],
        sys_path=(ROOT,),
        tokens=directory / "tokens",
        tls_cert=directory / "server.pem",
        tls_key=directory / "server-key.pem",
        record=directory / "recordings",
    ) as server:
        envs = [RemoteEnv(server.target, SPY, credentials=credentials) for _ in range(2)]
        for env in envs:
            env.reset(seed=1)
        yield envs[0], envs[1], server
        for env in envs:
            env.close()


def ask(env: RemoteEnv, method: str, *args: Any) -> Any:
    return env.get_wrapper_attr(method)(*args)


@landlocked
def test_an_environment_cannot_read_key_and_tokens(
    spies: tuple[RemoteEnv, RemoteEnv, Server], directory: Path
) -> None:
    open_to_it = [str(directory / "server.pem"), "/etc/hosts", __file__]
    secret = [str(directory / "server-key.pem"), str(directory / "tokens")]
    assert ask(spies[0], "opened", [*secret, *open_to_it]) == open_to_it


@landlocked
def test_an_environment_cannot_read_recordings(
    spies: tuple[RemoteEnv, RemoteEnv, Server], directory: Path
) -> None:
    recordings = [str(path) for path in (directory / "recordings").iterdir()]
    assert len(recordings) == 2
    assert ask(spies[0], "opened", [*recordings, "/etc/hosts"]) == ["/etc/hosts"]


@landlocked
def test_an_environment_cannot_read_the_memory_of_others(
    spies: tuple[RemoteEnv, RemoteEnv, Server],
) -> None:
    spy, other, server = spies
    own, forkserver = ask(spy, "pids")
    around = [server.pid, forkserver, ask(other, "pids")[0]]
    assert ask(spy, "opened", [f"/proc/{pid}/mem" for pid in (*around, own)]) == [
        f"/proc/{own}/mem"
    ]
    assert [ask(spy, "followed", pid) for pid in around] == [[], [], []]
    assert ask(spy, "followed", own)


@landlocked
def test_an_environment_cannot_seize_other_processes(
    spies: tuple[RemoteEnv, RemoteEnv, Server],
) -> None:
    """Neither their memory, nor their descriptors, nor as a debugger does."""
    spy, other, server = spies
    _, forkserver = ask(spy, "pids")
    around = [server.pid, forkserver, ask(other, "pids")[0]]
    assert [ask(spy, "seized", pid) for pid in around] == [[], [], []]
    assert ask(spy, "seized", ask(spy, "child")) == ["descriptor", "memory", "trace"]


@pytest.mark.skipif(landlock_version() < WITH_SCOPES, reason="a kernel that lets signals pass")
def test_an_environment_cannot_signal_others(spies: tuple[RemoteEnv, RemoteEnv, Server]) -> None:
    spy, other, server = spies
    own, forkserver = ask(spy, "pids")
    around = [server.pid, forkserver, ask(other, "pids")[0]]
    assert ask(spy, "signalled", [*around, own]) == [own]


def test_the_front_is_closed_to_its_own_user() -> None:
    program = (
        "import asyncio, ctypes\n"
        "from envwire.server._front.event_loop import run_loop\n"
        "async def main(): print(ctypes.CDLL(None).prctl(3, 0, 0, 0, 0))\n"
        "run_loop(main())\n"
    )
    shown = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert shown.stdout == "0\n"


MOVING = """
import os, sys
from envwire.server import ServerConfig
from envwire.server._worker.confining.confinement import confine
files, secrets = sys.argv[1:]
confine(ServerConfig(("*",), tokens=secrets + "/tokens"), None)
os.rename(files + "/a/file", files + "/b/file")
os.link(files + "/b/file", files + "/a/link")
print(open(files + "/a/link").read())
for way in (os.rename, os.link):
    try:
        way(secrets + "/tokens", files + "/b/tokens")
        print(open(files + "/b/tokens").read())
    except OSError as error:
        print(type(error).__name__)
"""


@pytest.mark.skipif(landlock_version() < WITH_REFER, reason="a kernel that moves no file")
def test_environments_move_files_but_not_secrets_to_where_they_can_be_read(
    tmp_path: Path, directory: Path
) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    (tmp_path / "a" / "file").write_text("what was moved")
    (directory / "tokens").touch()
    program = [sys.executable, "-c", MOVING, str(tmp_path), str(directory)]
    told = subprocess.run(program, capture_output=True, text=True, check=True).stdout.split("\n")
    assert told[0] == "what was moved"
    assert all(each.endswith("Error") for each in told[1:3]), told


def test_environments_gain_no_privileges(spies: tuple[RemoteEnv, RemoteEnv, Server]) -> None:
    own, _ = ask(spies[0], "pids")
    assert "NoNewPrivs:\t1" in Path(f"/proc/{own}/status").read_text()


def test_secrets_where_environments_work_are_told(
    tmp_path: Path, directory: Path, caplog: pytest.LogCaptureFixture
) -> None:
    config = ServerConfig(("*",), tokens=str(tmp_path / "tokens"))
    assert exposed(secrets_of(config)) == [tmp_path / "tokens"]
    assert exposed([Path.cwd() / "tokens", directory / "tokens"]) == [Path.cwd() / "tokens"]
    with caplog.at_level(logging.WARNING):
        warn_of_exposed(config)
    assert str(tmp_path / "tokens") in caplog.text


def test_recordings_of_other_machines_clients_are_secrets_and_ones_own_are_not(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        warn_of_exposed(ServerConfig(("*",), record=tmp_path))
        assert str(tmp_path) not in caplog.text
        warn_of_exposed(ServerConfig(("*",), record=tmp_path, host="0.0.0.0", insecure=True))
    assert str(tmp_path) in caplog.text
