"""An environment that uses up the descriptors that its user may send keeps no other session from anything."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from envwire.client import RemoteEnv
from tests.adversary.ledger import MARK
from tests.conftest import ROOT

SENDER, SLEEPER = "adversary/Sender-v0", "adversary/Sleeper-v0"
#: Runs a program as another user than root, and with so few files that other servers of this machine notice nothing.
LIMITED = """
import ctypes, os, resource, sys
from envwire.server._worker.confining.confinement import give_up_privileges
resource.setrlimit(resource.RLIMIT_NOFILE, (4096, 4096))
ctypes.CDLL(None).prctl(38, 1, 0, 0, 0)  # no new privileges
give_up_privileges()
os.execv(sys.executable, [sys.executable, "-m", "envwire", "serve", *sys.argv[1:]])
"""


@contextmanager
def limited_server(directory: str) -> Iterator[str]:
    """Runs such a server; yields its target."""
    options = ["--import", "tests.adversary.environments", "--port", "0"]
    process = subprocess.Popen(
        [sys.executable, "-c", LIMITED, SENDER, SLEEPER, *options],
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        env={**os.environ, MARK: directory},
    )
    try:
        assert process.stdout is not None
        yield process.stdout.readline().removeprefix("ready: ").strip()
    finally:
        process.terminate()
        process.communicate(timeout=30.0)


def test_the_server_and_other_sessions_go_on(tmp_path: Path) -> None:
    with (
        limited_server(str(tmp_path)) as target,
        closing(RemoteEnv(target, SENDER)) as sender,
        closing(RemoteEnv(target, SLEEPER)) as other,
    ):
        sender.reset()
        other.reset()
        assert "cannot splice" in sender.step(0)[4]["did"]
        other._handle.driver.transport._channel.shut_down()
        assert other.step(0)[0] == 1, "on a new connection"
        with closing(RemoteEnv(target, SLEEPER)) as late:
            assert late.reset()[0] == 1
            assert late._handle.driver.transport.address, "a direct channel, without shared memory"
