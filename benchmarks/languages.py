"""Steps of CartPole on the direct channel, from every library that is built here, taking turns in one run.

`make test-typescript` and `make test-cpp` build the programs that this runs; then `python -m benchmarks.languages`.
"""

from __future__ import annotations

import statistics
import subprocess
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

from envwire.client import RemoteEnv
from envwire.server import Server

ROUNDS, STEPS = 7, 3_000
CLIENT = Path(__file__).parents[1] / "client"
#: How each program is started; the address of the server follows.
PROGRAMS = {
    "TypeScript": ["node", str(CLIENT / "typescript/build/benchmarks/step.js")],
    "C++": [str(CLIENT / "cpp/build/benchmarks/step")],
}


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
    """Has a program take the same steps; returns the microseconds of one."""
    assert process.stdin is not None
    assert process.stdout is not None
    print(file=process.stdin, flush=True)
    return float(process.stdout.readline())


def measure(stack: ExitStack) -> dict[str, list[float]]:
    """Returns the figures of each language; those of one round stand at the same index."""
    server = stack.enter_context(Server(["CartPole-v1"]))
    env = stack.enter_context(RemoteEnv(server.target, "CartPole-v1", transport="direct"))
    takers: dict[str, Callable[[], float]] = {"Python": lambda: python_step(env)}
    for name, command in PROGRAMS.items():
        if not Path(command[-1]).exists():
            print(f"{name}: not built")
            continue
        process = subprocess.Popen([*command, server.target], stdin=-1, stdout=-1, text=True)
        stack.callback(process.kill)
        takers[name] = lambda process=process: program_step(process)
    rounds = [{name: take() for name, take in takers.items()} for _ in range(ROUNDS + 1)]
    return {name: [each[name] for each in rounds[1:]] for name in takers}  # the first is warm-up


def main() -> None:
    """Prints the median and the range of each, and the median of the ratios to Python's."""
    with ExitStack() as stack:
        figures = measure(stack)
    for name, each in figures.items():
        ratio = statistics.median(
            one / other for one, other in zip(each, figures["Python"], strict=True)
        )
        print(
            f"{name:10}  {statistics.median(each):6.1f} us ({min(each):.1f} to {max(each):.1f}), {ratio:.2f} of Python"
        )


if __name__ == "__main__":
    main()
