"""Measures steps on the direct channel with every library that is built here, in turns.

The environment is CartPole, or with `--still` one that does nothing, which isolates the cost of the libraries.
`make test-typescript` and `make test-cpp` build the programs that this runs; then `python -m benchmarks.languages`.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from unittest.mock import patch

from benchmarks.still import ENV_ID as STILL
from envwire.client import RemoteEnv
from envwire.client._transports.direct import dialing
from envwire.server import Server

ROUNDS, STEPS = 7, 3_000
CLIENT = Path(__file__).parents[1] / "client"
CPP = CLIENT / "cpp" / "build" / "benchmarks"
CARTPOLE = "CartPole-v1"
#: Row with which libraries without mailboxes are compared: Node.js cannot map memory.
SOCKET = "Python over a socket"
Take = Callable[[], float]


def python_step(env: RemoteEnv) -> float:
    """Returns the microseconds of a step."""
    env.reset(seed=1)
    start = time.perf_counter()
    for count in range(STEPS):
        _, _, terminated, truncated, _ = env.step(count % 2)
        if terminated or truncated:
            env.reset()
    return (time.perf_counter() - start) * 1e6 / STEPS


def program_step(process: subprocess.Popen[str]) -> float:
    """Lets a program take the same steps; returns the microseconds of one."""
    assert process.stdin is not None
    assert process.stdout is not None
    print(file=process.stdin, flush=True)
    return float(process.stdout.readline())


class Programs:
    """Starts programs, and ends them with the stack."""

    def __init__(self, stack: ExitStack) -> None:
        self._stack = stack

    def start(self, *command: str) -> subprocess.Popen[str]:
        """Starts a program that communicates by lines."""
        process = subprocess.Popen(command, stdin=-1, stdout=-1, text=True)
        self._stack.callback(process.kill)
        return process

    def serve(self, *command: str) -> str:
        """Starts a server; returns the address from its first line."""
        stdout = self.start(*command).stdout
        assert stdout is not None
        return stdout.readline().strip()

    def steps(self, *command: str) -> Take:
        """Starts a program that takes steps on command."""
        process = self.start(*command)
        return lambda: program_step(process)

    def python(self, target: str, env_id: str, *, mailbox: bool = True) -> Take:
        """Takes steps in this process, with or without a mailbox."""
        with patch.object(dialing, "ORDERED", mailbox):
            env = self._stack.enter_context(RemoteEnv(target, env_id, transport="direct"))
        return lambda: python_step(env)


def takers(programs: Programs, target: str, env_id: str) -> dict[str, Take]:
    """Returns the libraries that are built, by name, each as a function that takes steps."""
    found = {
        "Python": programs.python(target, env_id),
        SOCKET: programs.python(target, env_id, mailbox=False),
    }
    typescript = CLIENT / "typescript/build/benchmarks/step.js"
    if typescript.exists():
        found["TypeScript"] = programs.steps("node", str(typescript), target, env_id)
    if CPP.exists():
        step, pingpong = str(CPP / "step"), str(CPP / "pingpong")
        kit = programs.serve(str(CPP / "kit"))
        found["C++"] = programs.steps(step, target, env_id)
        found["C++ over TCP"] = programs.steps(step, target, env_id, "tcp")
        found["C++ drives C++ over TCP"] = programs.steps(step, kit, STILL, "tcp")
        found["Python drives C++"] = programs.python(kit, STILL)
        found["raw TCP"] = programs.steps(pingpong, programs.serve(pingpong, "serve"))
    return found


def measure(env_id: str) -> dict[str, list[float]]:
    """Returns the times of each library; those of one round have the same index."""
    with ExitStack() as stack:
        server = stack.enter_context(Server([env_id], imports=["benchmarks.still"]))
        takes = takers(Programs(stack), server.target, env_id)
        rounds = [{name: take() for name, take in takes.items()} for _ in range(ROUNDS + 1)]
    return {name: [each[name] for each in rounds[1:]] for name in takes}  # the first is warm-up


def ratio(each: list[float], other: list[float]) -> str:
    """Returns the median of the ratios of each round."""
    return f"{statistics.median(one / two for one, two in zip(each, other, strict=True)):.2f}"


def main() -> None:
    """Prints the median and the range of each, and the medians of its ratios to Python and to the bare socket."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--still", action="store_true", help="step an environment that does nothing"
    )
    figures = measure(STILL if parser.parse_args().still else CARTPOLE)
    for name, each in figures.items():
        line = f"{name:24} {statistics.median(each):6.1f} us ({min(each):.1f} to {max(each):.1f})"
        line += f", {ratio(each, figures['Python'])} of Python, {ratio(each, figures[SOCKET])} over a socket"
        if raw := figures.get("raw TCP"):
            line += f", {ratio(each, raw)} of raw TCP"
        print(line)


if __name__ == "__main__":
    main()
