"""Exits a session process with `os._exit`, since a forked process must not run its parent's exit handlers."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Callable
from typing import NoReturn


def run_and_exit(run: Callable[[], None]) -> NoReturn:
    """Runs a process's main function, then exits with the same status as Python itself would."""
    status = 1
    try:
        run()
        status = 0
    except SystemExit as leaving:
        status = _exit_status(leaving)
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


def _exit_status(leaving: SystemExit) -> int:
    if leaving.code is None:
        return 0
    if isinstance(leaving.code, int):
        return leaving.code & 0xFF
    print(leaving.code, file=sys.stderr)
    return 1
