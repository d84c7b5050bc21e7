"""Measures pictures over a slow path, compressed and not, in turns: steps a second.

The wire is that of `benchmarks.wide_wire`. "Then" is 2026-11-26, before anything was compressed, over 50 ms.
"""

from __future__ import annotations

import argparse
import statistics
import time
from contextlib import ExitStack, closing

from benchmarks.wide_area_envs import PICTURES
from benchmarks.wide_wire import Wire
from envwire.client import RemoteEnv
from tests.faults.network import Weather

SHAPES = {"84x84x4": (84, 84, 4), "256x256x3": (256, 256, 3), "480x640x3": (480, 640, 3)}
COMPRESSIONS = ("off", "auto")
#: Steps a second of rendered pictures then, by Mbit/s and shape.
THEN: dict[tuple[float, str], float] = {
    (50, "84x84x4"): 18.1,
    (50, "256x256x3"): 12.0,
    (200, "256x256x3"): 16.9,
    (50, "480x640x3"): 4.9,
    (200, "480x640x3"): 11.2,
}


def seconds_of_steps(env: RemoteEnv, steps: int) -> float:
    """Returns how long steps take."""
    begun = time.perf_counter()
    for _ in range(steps):
        env.step(0)
    return (time.perf_counter() - begun) / steps


def measure(wire: Wire, options: argparse.Namespace, mbits: float) -> None:
    """Prints a line for each kind of picture."""
    delay, rate = options.round_trip / 2, mbits * 1e6 / 8
    for name in options.shapes:
        shape = SHAPES[name]
        for noisy in (False, True):
            wire.set(Weather())
            with ExitStack() as open_envs:
                envs = {
                    compression: open_envs.enter_context(
                        RemoteEnv(
                            wire.target,
                            PICTURES,
                            transport="direct-tcp",
                            compression=compression,
                            shape=shape,
                            noisy=noisy,
                        )
                    )
                    for compression in COMPRESSIONS
                }
                for env in envs.values():
                    env.reset(seed=1)
                wire.set(Weather(delay=delay, rate=rate))
                for env in envs.values():
                    seconds_of_steps(env, options.warm_up)
                taken: dict[str, list[float]] = {compression: [] for compression in envs}
                for _ in range(options.rounds):
                    for compression, env in envs.items():
                        taken[compression].append(seconds_of_steps(env, options.steps))
                wire.set(Weather())
            plain, chosen = (statistics.median(taken[one]) for one in COMPRESSIONS)
            ideal = options.round_trip + shape[0] * shape[1] * shape[2] / rate
            kind = "noisy" if noisy else "rendered"
            then = f", then {THEN[mbits, name]}" if not noisy and (mbits, name) in THEN else ""
            print(
                f"{mbits:6g} Mbit/s {name:10} {kind:8} as they are {1 / plain:5.1f} steps/s (ideal {1 / ideal:.1f}"
                f"{then}), compressed {1 / chosen:5.1f}",
                flush=True,
            )


def main() -> None:
    """Prints a line for each rate and kind of picture."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--round-trip", type=float, default=0.05, help="in seconds")
    parser.add_argument("--mbits", type=float, nargs="+", default=[20, 50, 200, 1000])
    parser.add_argument("--shapes", nargs="+", choices=SHAPES, default=list(SHAPES))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=20, help="in a round")
    parser.add_argument("--warm-up", type=int, default=10, help="steps that are not measured")
    options = parser.parse_args()
    with closing(Wire()) as wire:
        for mbits in options.mbits:
            measure(wire, options, mbits)


if __name__ == "__main__":
    main()
