"""Runs the clients of one case in a separate interpreter: `python -m benchmarks.peers.worker TASK`.

It connects, answers `{"ready": true}`, and then one line for each command `{"clients": 2, "seconds": 0.2}`: the steps
that each of these clients made, and the seconds that they took. Clients beyond the first are threads.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from contextlib import ExitStack
from importlib import import_module
from typing import Any

from benchmarks.peers.lifeline import commands, describe, pin, take_stdout
from benchmarks.peers.setup import Connect, Setup, Step

Tally = tuple[int, float]


def step_for(step: Step, seconds: float) -> Tally:
    """Steps until the time is up, at least once.

    Returns:
        The steps made, and the seconds that they took.
    """
    clock = time.perf_counter
    start = clock()
    end, now, steps = start + seconds, start, 0
    while now < end:
        step()
        steps += 1
        now = clock()
    return steps, now - start


def step_together(steps: list[Step], seconds: float) -> list[Tally]:
    """Lets every client step in its own thread, all over the same span of time.

    Raises:
        RuntimeError: A client failed.
    """
    if len(steps) == 1:
        return [step_for(steps[0], seconds)]
    tallies: list[Tally] = []

    def run(step: Step) -> None:
        tallies.append(step_for(step, seconds))

    threads = [threading.Thread(target=run, args=(step,)) for step in steps]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if len(tallies) < len(steps):
        raise RuntimeError(f"{len(steps) - len(tallies)} of {len(steps)} clients failed")
    return tallies


def main() -> None:
    """Serves commands until the pipe is closed."""
    task: dict[str, Any] = json.loads(sys.argv[1])
    answer = take_stdout()
    pin(task["core"])
    # First, so that this process ends with the one that started it even while it is connecting.
    todo = commands()
    try:
        with ExitStack() as stack:
            connect: Connect = import_module(f"benchmarks.peers.cases.{task['module']}").connect
            setup = Setup(**task["setup"])
            steps = [
                stack.enter_context(connect(setup, task["port"])) for _ in range(task["clients"])
            ]
            for step in steps:
                step()
            answer({"ready": True})
            for command in todo:
                answer({"tallies": step_together(steps[: command["clients"]], command["seconds"])})
    except Exception as error:  # whatever a peer raises is its row in the table
        answer({"error": describe(error)})
        os._exit(1)


if __name__ == "__main__":
    main()
