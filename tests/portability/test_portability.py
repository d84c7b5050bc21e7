"""Clients on macOS and Windows work without the names that only Linux has."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator

import pytest

from envwire.server import Server
from tests.conftest import ROOT
from tests.direct.hosted_frames import FRAMES
from tests.tiers import cross, first

SYSTEMS = ("darwin", "win32")


@pytest.fixture(scope="module")
def target() -> Iterator[str]:
    with Server(
        ["CartPole-v1", FRAMES], imports=["tests.direct.hosted_frames"], sys_path=(ROOT,)
    ) as server:
        yield server.target


@pytest.mark.parametrize("system", first(SYSTEMS))
def test_clients_drive_a_server(system: str, target: str) -> None:
    program = ["-m", "tests.portability.client_program", system, target, FRAMES]
    done = _python(*program)
    assert done.returncode == 0, done.stderr[-3000:]
    assert len(done.stdout.splitlines()) >= 14, done.stdout


@pytest.mark.parametrize(
    ("system", "command"),
    cross(
        SYSTEMS,
        {
            "serve": ["serve", "CartPole-v1"],
            "farm up": ["farm", "up", "CartPole-v1"],
            "farm gateway": ["farm", "gateway"],
        },
    ),
)
def test_servers_say_that_they_need_linux(system: str, command: list[str]) -> None:
    done = _python("-m", "tests.portability.command_line", system, *command)
    assert done.returncode == 1
    assert f"servers run on Linux only, and this is {system!r}" in done.stderr
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize("system", first(SYSTEMS))
def test_the_command_line_looks_at_servers(system: str, target: str) -> None:
    done = _python("-m", "tests.portability.command_line", system, "list", target, "--json")
    assert done.returncode == 0, done.stderr
    assert "CartPole-v1" in done.stdout


def _python(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-X", "faulthandler", *arguments]
    return subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, timeout=200, check=False
    )
