"""Runs the server of one case in a separate interpreter: `python -m benchmarks.peers.served TASK`.

It prints `{"port": 50123}` when clients can connect. When its pipe is closed, it ends together with its children.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
from importlib import import_module
from typing import Any

from benchmarks.peers.lifeline import commands, describe, pin, take_stdout
from benchmarks.peers.setup import Serve, Setup


def _end_with_starter() -> None:
    for _ in commands():
        pass
    os.killpg(0, signal.SIGTERM)


def main() -> None:
    """Serves until the pipe is closed."""
    task: dict[str, Any] = json.loads(sys.argv[1])
    answer = take_stdout()
    pin(task["core"])
    threading.Thread(target=_end_with_starter, daemon=True).start()
    try:
        serve: Serve = import_module(f"benchmarks.peers.cases.{task['module']}").serve
        serve(Setup(**task["setup"]), lambda port: answer({"port": port}))
    except Exception as error:  # whatever a peer raises is its row in the table
        answer({"error": describe(error)})
        os._exit(1)


if __name__ == "__main__":
    main()
