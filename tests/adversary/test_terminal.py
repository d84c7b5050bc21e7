"""Text of an environment does not control the terminal of who serves it, or of who runs it."""

from __future__ import annotations

import contextlib
import os
import pty
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from envwire.client import Credentials, RemoteEnv
from envwire.server._auth.scopes import Scope
from envwire.server._worker.confining.landlock import landlock_version
from tests.adversary.ledger import MARK
from tests.conftest import ROOT
from tests.secured import write_tokens

ENV = "adversary/Screenwriter-v0"
ENVWIRE = (sys.executable, "-m", "envwire")
#: Makes the terminal the one that controls the command; not `preexec_fn`, as these tests have threads.
CONTROLLED = """
import fcntl, os, sys, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
os.execv(sys.argv[1], sys.argv[1:])
"""
IN_CONTROL = (sys.executable, "-c", CONTROLLED)
HOSTING = ("--import", "tests.adversary.environments")
COLOUR = re.compile(rb"\x1b\[[0-9;]*m")
CONTROL = re.compile(
    rb"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]|\xc2[\x80-\x9f]|\xe2\x80[\x8e\x8f\xaa-\xae]"
)
#: A module that writes when it is imported: as environments may have left it on the disk.
GREETING = r"""
import os
os.write(2, b"imported \x1b]0;owned\x07\n")
"""
#: What a command of ours draws: it hides the cursor for its progress bar, moves it, and clears lines.
DRAWN = re.compile(rb"\x1b\[(\?25[lh]|1A|2K)")


class Terminal:
    """A command in a terminal, which controls it as a shell's terminal does."""

    def __init__(self, *arguments: str, env: dict[str, str] | None = None) -> None:
        self.screen, theirs = pty.openpty()
        self.name = os.ttyname(theirs)
        self.process = subprocess.Popen(
            [*IN_CONTROL, *ENVWIRE, *arguments],
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            env=env,
            cwd=ROOT,
            start_new_session=True,
        )
        os.close(theirs)
        self.shown = b""

    def read(self, end: bytes = b"") -> bytes:
        """Returns what it has shown until a text appears, or until it ends."""
        with contextlib.suppress(OSError):  # the other end is closed
            while not (end and end in self.shown) and (more := os.read(self.screen, 65536)):
                self.shown += more
        return self.shown

    def finish(self) -> bytes:
        """Returns what it has shown when it has ended."""
        shown = self.read()
        self.process.wait(timeout=60)
        os.close(self.screen)
        return shown


@pytest.fixture(scope="module")
def server() -> Iterator[tuple[Terminal, str]]:
    """A server in a terminal, and its address."""
    with tempfile.TemporaryDirectory(prefix="adversary-") as directory:
        env = {**os.environ, MARK: directory}
        module = Path(directory, "greeting.py")
        module.write_text(GREETING)
        imported = (*HOSTING, "--import", str(module))
        serving = Terminal("serve", ENV, *imported, "--port", "0", env=env)
        try:
            yield serving, address_of(serving)
        finally:
            serving.process.terminate()
            serving.finish()


def address_of(serving: Terminal) -> str:
    """Waits until a server in a terminal is ready."""
    while (found := re.search(rb"ready: (\S+)\r\n", serving.shown)) is None:
        serving.shown += os.read(serving.screen, 65536)
    return found[1].decode()


def controls(shown: bytes) -> list[bytes]:
    return CONTROL.findall(DRAWN.sub(b"", COLOUR.sub(b"", shown)))


@pytest.mark.parametrize(
    ("arguments", "told"),
    {
        "an exception": (("run", "how=raise"), rb"[red]raised[/blue] \u001b]0;owned\u0007"),
        "the last output": (("run", "how=end"), rb"\u009b2J"),
        "an exception of a shard": (("eval", "how=raise"), rb"\u202egpj"),
        "frames": (("run", "how=", "--render", "ansi"), b"\x1b[31mdrawn"),
    }.values(),
)
def test_an_environment_does_not_control_the_terminal_of_who_runs_it(
    server: tuple[Terminal, str], arguments: tuple[str, ...], told: bytes
) -> None:
    command, how, *rest = arguments
    options = ("--episodes", "1", "--max-steps", "1", "--kwarg", how, *rest)
    shown = Terminal(command, server[1], ENV, *options).finish()
    assert told in shown
    assert controls(shown) == []


def test_an_environment_does_not_control_the_terminal_of_who_serves_it(
    server: tuple[Terminal, str],
) -> None:
    serving, address = server
    options = ("--episodes", "1", "--max-steps", "1")
    assert b"mean return" in Terminal("run", address, ENV, *options).finish()
    serving.read(rb"imported \u001b]0;owned\u0007")
    shown = serving.read(rb"printed \u001b]0;owned\u0007")
    assert controls(shown) == []


def test_only_a_terminal_gets_colours(server: tuple[Terminal, str]) -> None:
    command = (*ENVWIRE, "run", server[1], ENV, "--episodes", "1", "--max-steps", "1")
    done = subprocess.run(
        [*command, "--render", "ansi"], capture_output=True, timeout=100, check=True
    )
    assert b"drawn" in done.stdout
    assert b"\x1b" not in done.stdout + done.stderr


def test_an_exception_that_says_that_a_pipe_is_closed_is_told(
    server: tuple[Terminal, str],
) -> None:
    command = (*ENVWIRE, "run", server[1], ENV, "--kwarg", "how=pipe")
    done = subprocess.run(command, capture_output=True, text=True, timeout=100, check=False)
    assert done.returncode == 1
    assert "BrokenPipeError" in done.stderr
    assert "the simulator has left" in done.stderr


@pytest.mark.skipif(not landlock_version(), reason="a kernel without Landlock")
def test_an_environment_of_others_opens_no_terminal_of_who_serves_it(tmp_path: Path) -> None:
    """It could read what is typed there, and write what it likes past the guarded streams."""
    tokens = write_tokens(tmp_path / "tokens", {"alice": [Scope.PLAY]})
    hosting = ("--import", "tests.security.hostile_envs", "--tokens", str(tmp_path / "tokens"))
    serving = Terminal("serve", "hostile/Spy-v0", *hosting, "--port", "0")
    try:
        env = RemoteEnv(
            address_of(serving), "hostile/Spy-v0", credentials=Credentials(token=tokens["alice"])
        )
        paths = [serving.name, "/etc/hosts", "/dev/null"]
        assert env.get_wrapper_attr("opened")(paths) == ["/etc/hosts", "/dev/null"]
        assert env.get_wrapper_attr("changed")(serving.name) == []
        env.close()
    finally:
        serving.process.terminate()
        serving.finish()
