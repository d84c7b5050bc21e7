"""Beside a GPU of NVIDIA, a confined process may name its own threads in /proc, and change nothing else there."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from envwire.server._worker.confining.landlock import landlock_version

_PROGRAM = """
import json, os, sys
from pathlib import Path
from envwire.server._worker.confining import confinement
from envwire.server.config import ServerConfig
confinement.NVIDIA = Path(sys.argv[1])
rules = confinement.Confinement(ServerConfig(environments=["CartPole-v1"]))
rules.prepare()
written = {}
for path in ("/proc/self/task/{}/comm", "/proc/{}/oom_score_adj", "/proc/sys/kernel/panic"):
    if (child := os.fork()) == 0:
        rules.apply()
        target = Path(path.format(os.getppid() if "oom" in path else os.getpid()))
        try:
            target.write_text(target.read_text())
        except OSError as error:
            os._exit(error.errno)
        os._exit(0)
    written[path] = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
print(json.dumps([*written.values()]))
"""


@pytest.mark.skipif(not landlock_version(), reason="the kernel has no Landlock")
@pytest.mark.parametrize(
    ("device", "allowed"), [("/dev/null", True), ("/dev/there-is-none", False)]
)
def test_own_names(device: str, allowed: bool) -> None:
    run = [sys.executable, "-c", _PROGRAM, device]
    own, other, kernel = json.loads(subprocess.check_output(run, cwd=Path.cwd()))
    assert (own == 0) is allowed
    assert other != 0
    assert kernel != 0
