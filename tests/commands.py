"""Commands of `envwire`, called in the process of the tests: what they print, and how they end.

Only tests of what a process has start one: signals, a terminal, pipes, and servers, which own their process. A new
interpreter takes half a second, so it is forked from one that has imported the command line.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from typer.testing import CliRunner

from envwire.server.cli._app import app
from tests.forked_servers import COMMANDS

Done = subprocess.CompletedProcess[str]
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


start = COMMANDS.start


def as_process(*arguments: str | Path, **variables: str) -> Done:
    """Runs a command as a process, with further environment variables."""
    words = [str(argument) for argument in arguments]
    env = {**os.environ, **_WIDE, **variables}
    with start(*words, env=env, stderr=subprocess.PIPE) as process:
        out, err = process.communicate(200)
        return Done(words, process.wait(), out, err)
