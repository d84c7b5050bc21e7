"""The tutorial of two machines, run as it is written: the simulator's is a network namespace behind a cable."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import ROOT

PAGE = Path(ROOT, "docs", "tutorials", "two-machines.md").read_text(encoding="utf-8")
COMMANDS = re.findall(r"^ {4}(envwire .*)$", PAGE, re.MULTILINE)
[PROGRAM] = re.findall(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
NAME, HERE, THERE = "simulator.example", "198.18.79.1", "198.18.79.2"
SPACE, CABLE = f"envwire-{os.getpid()}", f"ew{os.getpid()}"


def ip(*arguments: str) -> None:
    subprocess.run(["ip", *arguments], check=True, capture_output=True, timeout=10.0)


def why_not() -> str:
    """Returns why there can be no such network here; empty when there can."""
    if os.geteuid() != 0:
        return "network namespaces need root"
    try:
        ip("netns", "add", f"{SPACE}-try")
        ip("netns", "del", f"{SPACE}-try")
    except (OSError, subprocess.SubprocessError) as error:
        return f"no network namespaces: {error}"
    return ""


pytestmark = [pytest.mark.slow, pytest.mark.skipif(bool(why_not()), reason=why_not())]


@pytest.fixture
def cable() -> Iterator[None]:
    """Another machine, at the end of a cable."""
    ip("netns", "add", SPACE)
    try:
        ip("link", "add", CABLE, "type", "veth", "peer", "name", "eth0", "netns", SPACE)
        ip("addr", "add", f"{HERE}/30", "dev", CABLE)
        ip("link", "set", CABLE, "up")
        for command in (f"addr add {THERE}/30 dev eth0", "link set eth0 up", "link set lo up"):
            ip("-n", SPACE, *command.split())
        yield
    finally:
        ip("netns", "del", SPACE)


def there(command: str) -> list[str]:
    """Returns a command of the page, for the other machine."""
    words = shlex.split(command.replace(NAME, THERE))
    return ["ip", "netns", "exec", SPACE, sys.executable, "-m", *words]


def test_a_policy_here_and_a_simulator_there(cable: None, tmp_path: Path) -> None:
    certs, token, serve = COMMANDS
    subprocess.run(there(certs), cwd=tmp_path, check=True, capture_output=True)
    made = subprocess.run(there(token), cwd=tmp_path, check=True, capture_output=True, text=True)
    shown, line = made.stdout.split("\n")[:2]
    (tmp_path / "tokens").write_text(f"{line}\n")
    known = {"ENVWIRE_CA": "certificates/ca.pem", "ENVWIRE_TOKEN": shown.split()[-1]}
    server = subprocess.Popen(there(serve), cwd=tmp_path, stdout=subprocess.PIPE, text=True)
    assert server.stdout is not None
    try:
        assert server.stdout.readline().startswith("ready: ")
        program = subprocess.Popen(
            [sys.executable, "-c", PROGRAM.replace(NAME, THERE)],
            cwd=tmp_path,
            env=os.environ | known,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert program.stdout is not None
        assert program.stdout.readline().startswith("episode 0: ")
        ip("-n", SPACE, "link", "set", "eth0", "down")
        time.sleep(3.0)
        ip("-n", SPACE, "link", "set", "eth0", "up")
        said, _ = program.communicate(timeout=60.0)
        assert said.endswith("lost: 0\n")
        assert not program.returncode
    finally:
        server.terminate()
        server.communicate(timeout=60.0)
