"""Steps of CartPole on the direct channel, from TypeScript and from Python, taking turns in one run.

`make test-typescript` compiles the program that this runs; then `python -m benchmarks.typescript_step`.
"""

from __future__ import annotations

import statistics
import subprocess
import time
from pathlib import Path

from envwire.client import RemoteEnv
from envwire.server import Server

ROUNDS, STEPS = 7, 3_000
PROGRAM = Path(__file__).parents[1] / "client/typescript/build/benchmarks/step.js"


def python_step(env: RemoteEnv) -> float:
    """Returns the microseconds of a step."""
    env.reset(seed=1)
    start = time.perf_counter()
    for count in range(STEPS):
        _, _, terminated, truncated, _ = env.step(count % 2)
        if terminated or truncated:
            env.reset()
    return (time.perf_counter() - start) * 1e6 / STEPS


def main() -> None:
    """Prints the median and the range of each, and the median of the ratios."""
    command = ["node", str(PROGRAM)]
    with (
        Server(["CartPole-v1"]) as server,
        RemoteEnv(server.target, "CartPole-v1", transport="direct") as env,
        subprocess.Popen([*command, server.target], stdin=-1, stdout=-1, text=True) as process,
    ):
        assert process.stdin is not None
        assert process.stdout is not None
        pairs = []
        for _ in range(ROUNDS + 1):
            print(file=process.stdin, flush=True)
            pairs.append((float(process.stdout.readline()), python_step(env)))
        process.stdin.close()
    measured = pairs[1:]  # the first is warm-up
    for name, figures in zip(("TypeScript", "Python"), zip(*measured, strict=True), strict=True):
        print(
            f"{name}: {statistics.median(figures):.1f} us ({min(figures):.1f} to {max(figures):.1f})"
        )
    print(f"ratio: {statistics.median(one / other for one, other in measured):.2f}")


if __name__ == "__main__":
    main()
