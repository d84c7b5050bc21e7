"""Measures a step of programs through `envwire serve --exec` beside a step at the kits' own servers, in turns.

The environment is the cart-pole of `make test-cpp` and `make test-typescript`, which build the programs; then
`python -m benchmarks.programs`.
"""

from __future__ import annotations

import shlex
import statistics
import subprocess
import time
from contextlib import ExitStack

from envwire.client import RemoteEnv
from envwire.server import Server
from tests.languages.programs import LANGUAGES, program

ROUNDS, TURNS, STEPS = 7, 12, 300
CARTPOLE = "CartPole-v1"


def turn(env: RemoteEnv) -> list[int]:
    """Returns the nanoseconds of each of some steps."""
    times: list[int] = []
    for count in range(STEPS):
        start = time.perf_counter_ns()
        _, _, terminated, truncated, _ = env.step(count % 2)
        times.append(time.perf_counter_ns() - start)
        if terminated or truncated:
            env.reset()
    return times


def rounds(own: RemoteEnv, behind: RemoteEnv) -> list[tuple[float, float]]:
    """Returns the median microseconds of a step at both, for each round."""
    found: list[tuple[float, float]] = []
    for env in (own, behind):
        env.reset(seed=1)
        turn(env)
    for _ in range(ROUNDS):
        times: dict[RemoteEnv, list[int]] = {own: [], behind: []}
        for number in range(TURNS):
            for env in (own, behind) if number % 2 else (behind, own):
                times[env] += turn(env)
        found.append(
            (statistics.median(times[own]) / 1000, statistics.median(times[behind]) / 1000)
        )
    return found


def measure(language: str) -> list[tuple[float, float]]:
    """Returns the rounds of a kit's program."""
    command = program(language, "cartpole")
    with ExitStack() as stack:
        # In a session of its own, as that of the server is: Linux shares processors out among sessions first.
        own = stack.enter_context(
            subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True)
        )
        stack.callback(own.kill)
        assert own.stdout is not None
        target = own.stdout.readline().strip()
        server = stack.enter_context(Server([CARTPOLE], program=shlex.join(command)))
        return rounds(
            stack.enter_context(RemoteEnv(target, CARTPOLE)),
            stack.enter_context(RemoteEnv(server.target, CARTPOLE)),
        )


def main() -> None:
    """Prints medians of the rounds, and the range of their ratios."""
    for language in LANGUAGES:
        found = measure(language)
        own, behind = (statistics.median(each) for each in zip(*found, strict=True))
        ratios = [behind / own for own, behind in found]
        print(
            f"{language:12} {own:6.1f} us at the kit's server, {behind:6.1f} us through serve --exec: "
            f"{statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})",
            flush=True,
        )


if __name__ == "__main__":
    main()
