"""The command itself, before it knows which of its commands is asked for."""

from __future__ import annotations

import errno
import subprocess
import sys
from importlib.abc import MetaPathFinder
from typing import Any

import pytest

import envwire.server.cli as command
from envwire.server.cli import main


class _Interrupted(MetaPathFinder):
    """Ctrl-C while the commands are imported."""

    def find_spec(self, fullname: str, *_: Any) -> None:
        if fullname == "envwire.server.cli._app":
            raise KeyboardInterrupt


@pytest.fixture(autouse=True)
def _keep_output(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leaves the streams of this process, which pytest reads, as they are."""
    monkeypatch.setattr(command, "guard_output", lambda: None)


def test_ctrl_c_while_it_starts_is_no_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "envwire.server.cli._app", raising=False)
    monkeypatch.setattr(sys, "meta_path", [_Interrupted(), *sys.meta_path])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 130


def test_a_full_disk_behind_its_output_is_no_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    for number in (errno.ENOSPC, errno.EIO):
        monkeypatch.setattr(command, "_run", _failing(OSError(number, "told")))
        with pytest.raises(SystemExit if number == errno.ENOSPC else OSError, match="told"):
            main()


def _failing(error: OSError) -> Any:
    def fail() -> None:
        raise error

    return fail


def test_a_closed_output_leaves_its_number_to_no_connection() -> None:
    program = """if True:
        import os
        os.close(1)
        import envwire.server.cli as command
        command._run = lambda: os.fstat(1)
        command.main()
    """
    subprocess.run([sys.executable, "-c", program], check=True)


def test_what_prints_to_a_closed_output_is_no_traceback() -> None:
    """Python has no `sys.stdout` then, and children would get its number for a file of theirs."""
    program = """if True:
        import os, subprocess, sys
        import envwire.server.cli as command
        def run():
            sys.stdout.isatty(), sys.stderr.isatty()
            print("nowhere", file=sys.stderr)
            subprocess.run([sys.executable, "-c", "import os; os.fstat(1), os.fstat(2)"], check=True)
        command._run = run
        command.main()
    """
    closed = ["sh", "-c", 'exec "$@" >&- 2>&-', "sh", sys.executable, "-c", program]
    subprocess.run(closed, check=True)
