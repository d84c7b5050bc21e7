"""Commands of `envwire`, called in the process of the tests: what they print, and how they end.

A process of its own takes half a second. Only tests of what a process has start one: signals, a terminal, pipes, and
servers, which own their process.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from typer.testing import CliRunner

from envwire.server.cli._app import app

Done = subprocess.CompletedProcess[str]
#: The command as a process.
ENVWIRE = (sys.executable, "-m", "envwire")
_WIDE = {"COLUMNS": "200"}


def envwire(*arguments: str | Path, **variables: str | None) -> Done:
    """Calls a command, with these environment variables; None stands for one that is not set.

    Raises:
        Exception: What the command did not expect: a user would see a traceback.
    """
    words = [str(argument) for argument in arguments]
    result = CliRunner().invoke(app, words, env={**_WIDE, **variables})
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return Done(words, result.exit_code, result.stdout, result.stderr)


def as_process(*arguments: str | Path, **variables: str) -> Done:
    """Runs a command as a process, with further environment variables."""
    words = [*ENVWIRE, *(str(argument) for argument in arguments)]
    env = {**os.environ, **_WIDE, **variables}
    return subprocess.run(words, capture_output=True, text=True, timeout=60, check=False, env=env)
